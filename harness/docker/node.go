package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"kbench/harness/provider"
	"kbench/internal/trace"
)

// Node is one container. It implements provider.Node.
type Node struct {
	engine *Engine
	name   string
	addr   string // its address in the run's network
	files  nodeFiles
	tc     testcontainers.Container
	life   context.Context // ends with the provider

	cpus       float64           // that it was made with; 0 for no bound
	disked     bool              // it reads the faults of its disk
	agentImage string            // of the sidecar that makes network faults
	labels     map[string]string // of the sidecar
	figures    *figures          // of a program that writes none itself; nil for others

	// configure gives the files that have the node keep its data in a directory
	// where there is nothing but these; nil where that is not needed.
	configure func(ctx context.Context, data string) ([]inFile, error)
	dataDir   string // the first one
	emptied   int    // how often

	mu     sync.Mutex
	run    *running // nil before the first start
	paused bool
}

// running is one life of the container, from a start to its end.
type running struct {
	proc    *process      // nil where its process is not this host's
	sampled int           // the pid whose figures are taken, 0 for none
	agent   *sidecar      // nil before the first use
	exited  chan struct{} // closed when the engine has seen the end
	exitNs  int64
	code    int   // -1 for a signal's end
	status  int   // as the engine reports it
	err     error // of waiting for the end
}

// Name implements provider.Node.
func (n *Node) Name() string { return n.name }

// IP is its address, the same after every restart.
func (n *Node) IP() string { return n.addr }

// ID is the engine's name for the container.
func (n *Node) ID() string { return n.tc.GetContainerID() }

// Start implements provider.Node.
func (n *Node) Start(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runningLocked() {
		return fmt.Errorf("start %s: it is still running", n.name)
	}
	if err := n.tc.Start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	if n.run != nil {
		_ = n.run.agent.end(ctx) // of the network that the node had before
	}
	r := &running{exited: make(chan struct{})}
	if info, err := n.tc.Inspect(ctx); err == nil && info.State != nil {
		r.proc = openProcess(info.State.Pid, n.ID())
		if n.figures != nil && r.proc != nil {
			r.sampled = info.State.Pid
		}
	}
	n.run, n.paused = r, false
	go n.watch(r)
	return nil
}

// watch waits for the end of a life: by the kernel where it can see the
// process, and by the engine, which knows the exit code.
func (n *Node) watch(r *running) {
	defer close(r.exited)
	defer r.proc.close()
	if r.sampled != 0 {
		defer n.figures.follow(n.name, r.sampled)()
	}
	stop := context.AfterFunc(n.life, r.proc.close)
	defer stop()
	r.exitNs = r.proc.waitExit()
	w := n.engine.api.ContainerWait(n.life, n.ID(), client.ContainerWaitOptions{Condition: "not-running"})
	select {
	case res := <-w.Result:
		r.code = int(res.StatusCode)
		if res.Error != nil {
			r.err = errors.New(res.Error.Message)
		}
	case r.err = <-w.Error:
	}
	if r.exitNs == 0 {
		r.exitNs = trace.Now()
	}
	r.status = r.code
	if r.code > 128 { // 128 + signal, as the engine reports a signal's end
		r.code = -1
	}
}

// Signal implements provider.Node. Pause and resume are idempotent, and a
// paused container is resumed after a signal that ends it.
func (n *Node) Signal(ctx context.Context, s provider.Signal) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.runningLocked() {
		return 0, fmt.Errorf("signal %s: it has exited", n.name)
	}
	now := trace.Now()
	var err error
	switch s {
	case provider.Term:
		err = n.deliver(ctx, syscall.SIGTERM)
	case provider.Kill:
		err = n.deliver(ctx, syscall.SIGKILL)
	case provider.Pause:
		now, err = n.freeze(ctx, true)
	case provider.Resume:
		now, err = n.freeze(ctx, false)
	case provider.Reread:
		err = n.deliver(ctx, syscall.SIGUSR1)
	case provider.Weigh:
		err = n.deliver(ctx, syscall.SIGUSR2)
	default:
		err = fmt.Errorf("%q is not known", s)
	}
	if err == nil && s == provider.Kill && n.paused { // frozen, it cannot die
		_, err = n.freeze(ctx, false)
	}
	if err != nil {
		return 0, fmt.Errorf("signal %s: %w", n.name, err)
	}
	return now, nil
}

// deliver sends a signal to the process itself, or by the engine where this
// host cannot.
func (n *Node) deliver(ctx context.Context, sig syscall.Signal) error {
	if n.run.proc.signal(sig) == nil {
		return nil
	}
	name := map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1"}[sig]
	_, err := n.engine.api.ContainerKill(ctx, n.ID(), client.ContainerKillOptions{Signal: name})
	return err
}

// freezeTries bounds the attempts to pause a container.
const freezeTries = 5

// freeze pauses or resumes, and says when. It is an error of the engine only if
// the container is not as wanted afterwards. With the freezer of cgroup v1 a
// busy machine may not stop all threads within the attempts of runc, which thaws
// them then and leaves it to its caller to try again.
func (n *Node) freeze(ctx context.Context, on bool) (int64, error) {
	now := trace.Now()
	if n.paused == on {
		return now, nil
	}
	for try := 1; ; try++ {
		err := n.engine.freeze(ctx, n.ID(), on)
		if err == nil {
			break
		}
		info, ierr := n.tc.Inspect(ctx)
		if ierr == nil && info.State != nil && info.State.Paused == on {
			break
		}
		if try == freezeTries || !strings.Contains(err.Error(), "unable to freeze") {
			return 0, err
		}
		now = trace.Now()
	}
	n.paused = on
	return now, nil
}

func (e *Engine) freeze(ctx context.Context, id string, on bool) (err error) {
	if on {
		_, err = e.api.ContainerPause(ctx, id, client.ContainerPauseOptions{})
	} else {
		_, err = e.api.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
	}
	return err
}

// Wait implements provider.Node.
func (n *Node) Wait(ctx context.Context) (int64, int, error) {
	n.mu.Lock()
	r := n.run
	n.mu.Unlock()
	if r == nil {
		return 0, 0, fmt.Errorf("wait for the exit of %s: it was never started", n.name)
	}
	select {
	case <-r.exited:
	case <-ctx.Done():
		return 0, 0, fmt.Errorf("wait for the exit of %s: %w", n.name, ctx.Err())
	}
	if r.err != nil {
		return 0, 0, fmt.Errorf("wait for the exit of %s: %w", n.name, r.err)
	}
	return r.exitNs, r.code, nil
}

// status is how the last life ended as the engine reports it; 0 before the end.
func (n *Node) status() int {
	if n.Running() {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.run == nil {
		return 0
	}
	return n.run.status
}

// Running implements provider.Node.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runningLocked()
}

func (n *Node) runningLocked() bool {
	if n.run == nil {
		return false
	}
	select {
	case <-n.run.exited:
		return false
	default:
		return true
	}
}

// remove ends the container, paused or not, and takes its anonymous volumes
// with it. It is idempotent.
func (n *Node) remove(ctx context.Context) error {
	n.mu.Lock()
	paused, side := n.paused, (*sidecar)(nil)
	if n.run != nil {
		side = n.run.agent
	}
	n.mu.Unlock()
	return errors.Join(side.end(ctx), n.engine.removeContainer(ctx, n.ID(), paused))
}

func (e *Engine) removeContainer(ctx context.Context, id string, paused bool) error {
	if paused { // some engines cannot remove what is frozen
		_ = e.freeze(ctx, id, false)
	}
	_, err := e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsConflict(err) { // its removal is under way already
		return nil
	}
	return ignoreGone(err)
}

func ignoreGone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"kbench/harness/netfault/agent"
	"kbench/harness/provider"
)

var _ provider.Networked = (*Node)(nil)

// Separate implements provider.Provider: every container has a network of its
// own in any case.
func (p *Provider) Separate(context.Context) error { return nil }

// sidecar is the container of a network agent, in the network of a node's
// container. A restart gives the node another network: the sidecar belongs to
// one life of the node.
type sidecar struct {
	engine *Engine
	id     string
	client *agent.Client
}

// Agent implements provider.Networked. The node must be running.
func (n *Node) Agent(ctx context.Context) (*agent.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.runningLocked() {
		return nil, fmt.Errorf("network of %s: it has exited", n.name)
	}
	if s := n.run.agent; s != nil && !s.client.Gone() {
		return s.client, nil
	}
	s, err := n.startSidecar(ctx)
	if err != nil {
		return nil, fmt.Errorf("network of %s: %w", n.name, err)
	}
	n.run.agent = s
	return s.client, nil
}

// startSidecar runs `kbench netfault` beside the node. Its input ends with the
// connection to it, and then it ends and the engine removes it: nothing of it
// outlives kbench.
func (n *Node) startSidecar(ctx context.Context) (*sidecar, error) {
	created, err := n.engine.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{
			Image: n.agentImage, Cmd: []string{"netfault"}, Labels: n.labels,
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode("container:" + n.ID()), AutoRemove: true,
			CapDrop: []string{"ALL"}, CapAdd: []string{"NET_ADMIN"},
			LogConfig: container.LogConfig{Type: "none"},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("create the network agent: %w", err)
	}
	s := &sidecar{engine: n.engine, id: created.ID}
	attached, err := n.engine.api.ContainerAttach(ctx, s.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach to the network agent: %w", err), s.remove(context.WithoutCancel(ctx)))
	}
	conn := newAgentConn(attached.HijackedResponse)
	if _, err = n.engine.api.ContainerStart(ctx, s.id, client.ContainerStartOptions{}); err != nil {
		err = errors.Join(fmt.Errorf("start the network agent: %w", err), conn.Close())
	} else {
		s.client, err = agent.Connect(ctx, conn)
	}
	if err != nil {
		return nil, errors.Join(err, s.remove(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// end heals the network and removes the container. It is idempotent; a nil
// sidecar is none.
func (s *sidecar) end(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return errors.Join(s.client.Close(), s.remove(ctx))
}

func (s *sidecar) remove(ctx context.Context) error {
	return s.engine.removeContainer(ctx, s.id, false)
}

// agentConn is the input and the output of an agent over the engine.
type agentConn struct {
	io.Reader
	hijacked client.HijackedResponse
}

func newAgentConn(h client.HijackedResponse) *agentConn {
	r, w := io.Pipe()
	go func() { // ends when the agent has
		_, err := stdcopy.StdCopy(w, w, h.Reader)
		_ = w.CloseWithError(err)
		h.Close()
	}()
	return &agentConn{r, h}
}

// Write implements io.Writer.
func (c *agentConn) Write(b []byte) (int, error) { return c.hijacked.Conn.Write(b) }

// Close ends the agent's input.
func (c *agentConn) Close() error { return c.hijacked.CloseWrite() }

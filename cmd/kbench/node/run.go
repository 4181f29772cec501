package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"kbench/internal/diskfault"
	"kbench/internal/nodeconfig"
	"kbench/internal/nodemetrics"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// shutdownTimeout bounds the controlled end of a node. Kafka's brokers wait up
// to five minutes for the controller to grant it.
const shutdownTimeout = 5 * time.Minute

// part is what a process holds: one or many brokers, a controller, a store.
type part interface {
	// run serves until ctx ends or the part cannot go on.
	run(ctx context.Context) error
	// shutdown leaves in a controlled way and ends run.
	shutdown(ctx context.Context) error
}

// process is what the parts share.
type process struct {
	cfg    *nodeconfig.Config
	log    *slog.Logger
	trace  *trace.Writer
	gauges map[string]func() int64
	secure *security
	disk   *diskfault.Disk // nil where no faults of it can be injected
	dirs   logDirDisks     // those of brokers
}

// ConfigError is the error of a node whose configuration names something that it
// cannot use, such as a file that holds no certificate, a directory of another
// node, or a quorum of another cluster. It has served nothing.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap gives the fault.
func (e *ConfigError) Unwrap() error { return e.Err }

// Run runs the node until stop ends, which asks for a controlled shutdown, or
// until it fails. A nil error is a clean end.
func Run(stop context.Context, cfg *nodeconfig.Config, log *slog.Logger) error {
	secure, err := newSecurity(cfg)
	if err != nil {
		return &ConfigError{err}
	}
	if err := os.MkdirAll(cfg.DataDir, 0o755); err != nil {
		return refused(fmt.Errorf("make the data directory: %w", metalog.Cured(err)))
	}
	p := &process{cfg: cfg, log: log, gauges: map[string]func() int64{}, secure: secure}
	if cfg.TraceFile != "" {
		w, err := trace.Create(cfg.TraceFile, cfg.Name)
		if err != nil {
			return err
		}
		defer func() { _ = w.Close() }()
		p.trace = w
	}
	if p.disk, err = p.newDisk(); err != nil {
		return err
	}
	part, err := p.assemble()
	if err != nil {
		return refused(err)
	}
	err = p.serve(stop, part)
	if errors.Is(err, kafka.InconsistentClusterID) || errors.Is(err, metalog.ErrForeign) || errors.Is(err, metalog.ErrLocked) {
		return &ConfigError{err} // which the brokers find out as they start
	}
	return err
}

// refused makes the error of a directory that cannot be had a ConfigError.
func refused(err error) error {
	if metalog.Refused(err) {
		return &ConfigError{err}
	}
	return err
}

func (p *process) assemble() (part, error) {
	switch {
	case p.cfg.Role == nodeconfig.RoleZooKeeper:
		return p.newStore()
	case p.cfg.Role == nodeconfig.RoleController:
		return p.newController()
	case p.cfg.Mode == nodeconfig.ModeKRaft && p.cfg.Quorum.NodeID != 0:
		return p.newCombined()
	default:
		return p.newBrokers()
	}
}

// serve runs the part beside the metrics sampler, and shuts it down when stop
// ends.
func (p *process) serve(stop context.Context, part part) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := p.serveProfiles(ctx); err != nil {
		return err
	}
	sampled := p.sample(ctx)
	p.obeyDisk(ctx)
	p.obeyWeigh(ctx)
	ended := make(chan error, 1)
	go func() { ended <- part.run(ctx) }()
	p.log.Info("serving", "node", p.cfg.Name, "role", p.cfg.Role, "mode", p.cfg.Mode)
	var err error
	select {
	case err = <-ended:
	case <-stop.Done():
		p.log.Info("shutting down", "node", p.cfg.Name)
		bounded, done := context.WithTimeout(ctx, shutdownTimeout)
		err = part.shutdown(bounded)
		done()
		cancel()
		err = errors.Join(err, <-ended)
	}
	cancel()
	return errors.Join(err, <-sampled)
}

func (p *process) sample(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	if p.cfg.Metrics.File == "" {
		done <- nil
		return done
	}
	s := &nodemetrics.Sampler{
		Node: p.cfg.Name, File: p.cfg.Metrics.File, DataDir: p.cfg.DataDir,
		Interval: max(p.cfg.Metrics.Interval.D(), time.Second), Gauges: p.gauges,
	}
	go func() { done <- s.Run(ctx) }()
	return done
}

// Lifeline calls gone when the descriptor named by nodeconfig.LifelineEnv ends: the
// starter holds the other end of that pipe and is gone then, however it went.
// Without the variable it does nothing.
func Lifeline(gone func()) {
	fd, err := strconv.Atoi(os.Getenv(nodeconfig.LifelineEnv))
	if err != nil || fd < 3 {
		return
	}
	f := os.NewFile(uintptr(fd), "lifeline")
	go func() {
		_, _ = f.Read(make([]byte, 1)) // nothing is ever written
		gone()
	}()
}

package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kbench/harness/child"
	"kbench/harness/provider"
	"kbench/internal/heldport"
)

// Config says what to start. The zero value of a field means its default.
type Config struct {
	Installation
	// Dir gets one directory for each server, zookeeper-1 and so on. Required.
	Dir string
	// Size is the number of servers: 1 or an odd number up to 7; 1 by default.
	Size int
	// TickTime is 2 s by default. Clients negotiate sessions of 2 to 20 ticks.
	TickTime time.Duration
	// Reserve gives the host and free ports where a server will listen, its own
	// over every restart; by default they are on 127.0.0.1 and held until Close.
	Reserve func(ctx context.Context, server string, ports int) (host string, port []uint16, err error)
	// Within gives where a server's process starts, see child.Process; nil
	// starts all beside kbench.
	Within func(server string) (func(start func() error) error, error)
	// HeapMB bounds each server's heap, 2048 by default; a million znodes take
	// some 500.
	HeapMB int
	// Record has each server's JVM record itself.
	Record bool
	// ReadyWithin bounds the start, three minutes by default.
	ReadyWithin time.Duration
}

func (c Config) withDefaults() (Config, error) {
	set := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	set(&c.TickTime, 2*time.Second)
	set(&c.ReadyWithin, 3*time.Minute)
	if c.Size == 0 {
		c.Size = 1
	}
	if c.HeapMB == 0 {
		c.HeapMB = 2048
	}
	if c.Within == nil {
		c.Within = func(string) (func(func() error) error, error) { return nil, nil }
	}
	switch {
	case c.Dir == "":
		return c, errors.New("zookeeper: Dir is empty; name a directory for the servers")
	case c.Java == "" || len(c.ClassPath) == 0:
		return c, errors.New("zookeeper: Installation is empty; use what Find gives")
	case c.Size < 1 || c.Size > 7 || c.Size%2 == 0:
		return c, fmt.Errorf("zookeeper: an ensemble of %d servers is not served; use 1, 3, 5 or 7", c.Size)
	case c.TickTime < time.Millisecond:
		return c, fmt.Errorf("zookeeper: TickTime %v is under 1ms", c.TickTime)
	}
	return c, nil
}

// Ensemble is a running ZooKeeper.
type Ensemble struct {
	servers []*Server
	dir     string
	version string
	ports   []*heldport.Port // where Config.Reserve was left out
}

// Start starts the servers and waits until every one serves and one leads. On
// an error nothing is left behind.
func Start(ctx context.Context, cfg Config) (*Ensemble, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err == nil { // a server's own directory is another
		err = os.MkdirAll(cfg.Dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("make the directory of ZooKeeper: %w", err)
	}
	e := &Ensemble{dir: cfg.Dir, version: cfg.Version}
	if cfg.Reserve == nil {
		cfg.Reserve = e.reserve
	}
	if err := e.start(ctx, cfg); err != nil {
		return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	return e, nil
}

func (e *Ensemble) start(ctx context.Context, cfg Config) error {
	if err := e.configure(ctx, cfg); err != nil {
		return err
	}
	for _, s := range e.servers {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.ReadyWithin)
	defer cancel()
	return e.Ready(ctx)
}

// Ready waits until every server that runs serves and, of several, one leads.
// A server that has exited is an error with the end of its log.
func (e *Ensemble) Ready(ctx context.Context) error {
	for {
		missing, err := e.look(ctx)
		if err != nil || missing == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until ZooKeeper serves: %w; last seen: %s; its log ends: %s", context.Cause(ctx), missing, e.servers[0].logTail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// look says what is missing, "" for nothing.
func (e *Ensemble) look(ctx context.Context) (string, error) {
	leaders := 0
	for _, s := range e.servers {
		if !s.Running() {
			return "", fmt.Errorf("%s has exited with code %d (-1 is a signal); its log ends: %s", s.Name(), s.Code(), s.logTail())
		}
		st, err := Ask(ctx, s.addr)
		if err != nil {
			return fmt.Sprintf("%s: %v", s.Name(), err), nil
		}
		if st.Mode == "leader" || st.Mode == "standalone" {
			leaders++
		}
		if e.version == "" {
			e.version = st.Version
		}
	}
	if leaders != 1 {
		return fmt.Sprintf("%d leaders", leaders), nil
	}
	return "", nil
}

// Servers implements provider.Ensemble.
func (e *Ensemble) Servers() []string {
	var out []string
	for _, s := range e.servers {
		out = append(out, s.addr)
	}
	return out
}

// DataDirs are where the servers keep their transaction logs.
func (e *Ensemble) DataDirs() []string {
	var out []string
	for _, s := range e.servers {
		out = append(out, s.DataDir())
	}
	return out
}

// Description implements provider.Ensemble.
func (e *Ensemble) Description() string {
	if len(e.servers) == 1 {
		return fmt.Sprintf("ZooKeeper %s, one server", e.version)
	}
	return fmt.Sprintf("ZooKeeper %s, ensemble of %d", e.version, len(e.servers))
}

// Members implements provider.Ensemble.
func (e *Ensemble) Members() []provider.Node {
	var out []provider.Node
	for _, s := range e.servers {
		out = append(out, s)
	}
	return out
}

// Close kills the servers, waits for their ends and removes their directories.
// It is idempotent, and bounded by ctx and a minute: a server that waits for its
// disk ends after it.
func (e *Ensemble) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var errs []error
	for _, s := range e.servers {
		if s.Running() {
			if _, err := s.Signal(ctx, provider.Kill); err != nil && s.Running() {
				errs = append(errs, err)
			}
		}
	}
	for _, s := range e.servers {
		if s.Pid() != 0 {
			if _, _, err := s.Wait(ctx); err != nil {
				errs = append(errs, fmt.Errorf("%w after SIGKILL", err))
				continue
			}
		}
		errs = append(errs, os.RemoveAll(s.dir))
	}
	for _, p := range e.ports {
		errs = append(errs, p.Release())
	}
	e.ports = nil
	return errors.Join(errs...)
}

// reserve takes ports of this host until Close; the name of the server does not
// matter.
func (e *Ensemble) reserve(_ context.Context, _ string, n int) (string, []uint16, error) {
	const host = "127.0.0.1"
	out := make([]uint16, n)
	for i := range out {
		p, err := heldport.Hold(host)
		if err != nil {
			return "", nil, err
		}
		e.ports = append(e.ports, p)
		out[i] = p.Number
	}
	return host, out, nil
}

// configure reserves ports and writes every server's files.
func (e *Ensemble) configure(ctx context.Context, cfg Config) error {
	var quorum strings.Builder
	for i := range cfg.Size {
		name := fmt.Sprintf("zookeeper-%d", i+1)
		want := 1
		if cfg.Size > 1 {
			want = 3 // for clients, followers and elections
		}
		host, ports, err := cfg.Reserve(ctx, name, want)
		if err != nil {
			return err
		}
		s := &Server{
			Process: child.New(name, filepath.Join(cfg.Dir, name, "pid")),
			dir:     filepath.Join(cfg.Dir, name), java: cfg.Java, record: cfg.Record,
			addr: fmt.Sprintf("%s:%d", host, ports[0]),
		}
		if s.Within, err = cfg.Within(name); err != nil {
			return err
		}
		e.servers = append(e.servers, s)
		if cfg.Size > 1 {
			fmt.Fprintf(&quorum, "server.%d=%s:%d:%d\n", i+1, host, ports[1], ports[2])
		}
	}
	for i, s := range e.servers {
		if err := s.configure(cfg, i+1, quorum.String()); err != nil {
			return fmt.Errorf("configure %s: %w", s.Name(), err)
		}
	}
	return nil
}

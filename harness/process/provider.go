package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kbench/harness/child"
	"kbench/harness/kafka"
	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/heldport"
	"kbench/internal/nodeconfig"
)

// Host is where every node listens, unless each has a network of its own.
const Host = "127.0.0.1"

var _ provider.Provider = (*Provider)(nil)

// Config says what to run and where files go.
type Config struct {
	Binary  string   // the kbench binary; its `node` command is run
	Args    []string // put before `--config FILE`; nil means ["node"]; its `netfault` command makes network faults
	WorkDir string   // an empty or absent directory of this run alone; removed by Close
	Env     []string // added to the environment of every node
}

// Provider is the process provider.
type Provider struct {
	cfg Config

	mu    sync.Mutex
	ports []*heldport.Port // a killed node finds its own again
	nodes []provider.Node
	extra []func(context.Context) error // what else Close ends
	lan   *lan                          // nil where all nodes are on loopback
}

// New makes the work directory and records this process as its owner.
func New(cfg Config) (*Provider, error) {
	if cfg.Args == nil {
		cfg.Args = []string{"node"}
	}
	if err := os.MkdirAll(cfg.WorkDir, 0o755); err != nil {
		return nil, fmt.Errorf("make the work directory: %w", err)
	}
	if err := writeOwner(cfg.WorkDir); err != nil {
		return nil, err
	}
	return &Provider{cfg: cfg}, nil
}

// Name implements provider.Provider.
func (p *Provider) Name() string { return "process" }

// Separate implements provider.Provider.
func (p *Provider) Separate(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lan != nil || len(p.ports) > 0 {
		return errors.New("nodes have places already: separate them before")
	}
	l, err := newLAN(p.cfg.Binary)
	if err != nil {
		return fmt.Errorf("provider process: %w: %w", provider.ErrUnavailable, err)
	}
	p.lan = l
	return nil
}

// Reserve implements provider.Provider.
func (p *Provider) Reserve(_ context.Context, node string, n int) (string, []uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lan != nil {
		return p.lan.reserve(node, n)
	}
	ports := make([]uint16, n)
	for i := range ports {
		port, err := heldport.Hold(Host)
		if err != nil {
			return "", nil, err
		}
		p.ports = append(p.ports, port)
		ports[i] = port.Number
	}
	return Host, ports, nil
}

// Put implements provider.Provider.
func (p *Provider) Put(_ context.Context, node string, files ...provider.File) (string, error) {
	dir := filepath.Join(p.cfg.WorkDir, node, "private")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return "", fmt.Errorf("write a file of %s: %w", node, err)
		}
	}
	return dir, nil
}

// Launch implements provider.Provider.
func (p *Provider) Launch(ctx context.Context, cfg nodeconfig.Config) (provider.Node, error) {
	dir := filepath.Join(p.cfg.WorkDir, cfg.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cfg.DataDir = filepath.Join(dir, "data")
	cfg.TraceFile = filepath.Join(dir, "trace.jsonl")
	cfg.Metrics.File = filepath.Join(dir, "metrics.jsonl")
	if cfg.DiskFaults != "" {
		cfg.DiskFaults = filepath.Join(dir, "disk.json")
	}
	file := filepath.Join(dir, "node.json")
	if err := cfg.Write(file); err != nil {
		return nil, fmt.Errorf("write the configuration of %s: %w", cfg.Name, err)
	}
	n := &Node{
		Process: child.New(cfg.Name, filepath.Join(dir, "pid")), dir: dir, binary: p.cfg.Binary, env: p.cfg.Env,
		disk: cfg.DiskFaults,
		args: append(append([]string{}, p.cfg.Args...), "--config", file),
	}
	within, err := p.within(cfg.Name)
	if err != nil {
		return nil, err
	}
	n.Within = within
	if err := n.Start(ctx); err != nil {
		return nil, err
	}
	return p.keep(n), nil
}

// within is where the process of a node starts: nil for beside kbench.
func (p *Provider) within(node string) (func(func() error) error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lan == nil {
		return nil, nil
	}
	return p.lan.within(node)
}

// keep remembers a node for Close and gives it its network.
func (p *Provider) keep(n provider.Node) provider.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = append(p.nodes, n)
	return p.networkedLocked(n)
}

func (p *Provider) networkedLocked(n provider.Node) provider.Node {
	if p.lan == nil {
		return n
	}
	return p.lan.networked(n)
}

// ZooKeeper implements provider.Provider.
func (p *Provider) ZooKeeper(ctx context.Context, z provider.ZooKeeper) (provider.Ensemble, error) {
	found, err := zookeeper.Find()
	if err != nil {
		return nil, err
	}
	e, err := zookeeper.Start(ctx, zookeeper.Config{
		Installation: found, Dir: p.cfg.WorkDir, Size: z.Size, TickTime: z.TickTime, Record: z.Record,
		Reserve: p.Reserve, Within: p.within,
	})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra = append(p.extra, e.Close)
	members := e.Members()
	for i, n := range members {
		members[i] = p.networkedLocked(n)
	}
	return ensemble{e, members}, nil
}

// ensemble is a ZooKeeper whose members are the provider's.
type ensemble struct {
	*zookeeper.Ensemble
	members []provider.Node
}

// Members implements provider.Ensemble.
func (e ensemble) Members() []provider.Node { return e.members }

// Kafka implements provider.Provider.
func (p *Provider) Kafka(ctx context.Context, k provider.Kafka) (provider.Node, error) {
	found, err := kafka.Find(k.Version)
	if err != nil {
		return nil, err
	}
	within, err := p.within(k.Name)
	if err != nil {
		return nil, err
	}
	n, err := kafka.Start(ctx, kafka.Config{Installation: found, Kafka: k, Dir: filepath.Join(p.cfg.WorkDir, k.Name), Within: within})
	if err != nil {
		return nil, err
	}
	return p.keep(n), nil
}

// endWithin bounds the wait for killed nodes: one that waits for its disk ends
// after it.
const endWithin = time.Minute

// Close implements provider.Provider: SIGTERM is not sent, since nothing that
// is measured is left; every child is killed and waited for.
func (p *Provider) Close(ctx context.Context) error {
	p.mu.Lock()
	nodes, extra, lan, ports := p.nodes, p.extra, p.lan, p.ports
	p.nodes, p.extra, p.lan, p.ports = nil, nil, nil, nil
	p.mu.Unlock()
	var errs []error
	if lan != nil {
		errs = append(errs, lan.endAgents())
	}
	for _, n := range nodes {
		if n.Running() {
			_, err := n.Signal(ctx, provider.Kill)
			errs = append(errs, err)
		}
	}
	wait, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	for _, n := range nodes {
		if _, _, err := n.Wait(wait); err != nil {
			errs = append(errs, fmt.Errorf("%s did not end after SIGKILL: %w", n.Name(), err))
		}
	}
	for _, end := range extra {
		errs = append(errs, end(ctx))
	}
	for _, port := range ports {
		errs = append(errs, port.Release())
	}
	if lan != nil {
		errs = append(errs, lan.network.Close())
	}
	errs = append(errs, os.RemoveAll(p.cfg.WorkDir))
	return errors.Join(errs...)
}

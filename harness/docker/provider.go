package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"golang.org/x/sync/errgroup"

	"kbench/docker/images"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
)

// Config says what to run. Name and Binary are required.
type Config struct {
	// Name of the run, unique on the engine: letters, digits, ".", "_", "-". It
	// is the value of the label kbench.run and a part of every name.
	Name string
	// Binary is the kbench binary, static; its `node` command is run.
	Binary string
	// CPUs bounds each node, 0 for no bound. A bound is a quota for 100 ms: a
	// node that has used it up stands still for the rest.
	CPUs float64
	// MemoryBytes bounds each node, swap included; 0 for no bound.
	MemoryBytes int64
	// ZooKeeperImage is the image to look for and to pull; OfficialZooKeeper by
	// default.
	ZooKeeperImage string
	// KafkaImage is the repository of the images of Kafka to look for; OfficialKafka
	// by default.
	KafkaImage string
}

// Provider is the docker provider.
type Provider struct {
	cfg    Config
	engine *Engine
	image  string // of nodes
	labels map[string]string
	net    *bridge
	life   context.Context
	end    context.CancelFunc

	mu      sync.Mutex
	places  map[string]*place
	nodes   []*Node
	volumes []string
	closed  bool
}

// place is what Reserve gave a node.
type place struct {
	ip    netip.Addr
	next  uint16 // port
	files []inFile
}

// firstPort is a node's first; those after it follow.
const firstPort = 9092

// Places of files in a node's container; /data is its volume.
const (
	configFile  = "/etc/kbench/node.json"
	privateDir  = "/etc/kbench/private"
	dataDir     = "/data/node"
	traceFile   = "/data/trace.jsonl"
	metricsFile = "/data/metrics.jsonl"
)

var validName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,80}$`)

// New connects to the engine, builds the node image if it is not there and
// makes the run's network. On an error nothing is left behind.
func New(ctx context.Context, cfg Config) (*Provider, error) {
	if !validName.MatchString(cfg.Name) {
		return nil, fmt.Errorf("provider docker: %q is no name for a run: use letters, digits, '.', '_' and '-', at most 80", cfg.Name)
	}
	if cfg.CPUs < 0 || cfg.MemoryBytes < 0 {
		return nil, errors.New("provider docker: a limit is negative; use 0 for none")
	}
	image, err := images.Node(cfg.Binary)
	if err != nil {
		return nil, fmt.Errorf("provider docker: %w", err)
	}
	engine, err := Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("provider docker: %w", err)
	}
	p := &Provider{cfg: cfg, engine: engine, image: image.Name, labels: ownLabels(cfg.Name), places: map[string]*place{}}
	p.life, p.end = context.WithCancel(context.Background())
	if err = engine.Ensure(ctx, image); err == nil {
		p.net, err = newBridge(ctx, p.copyLabels())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provider docker: %w", err), p.Close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// Name implements provider.Provider.
func (p *Provider) Name() string { return "docker" }

// Reserve implements provider.Provider: an address in the run's network, and
// ports from 9092 on.
func (p *Provider) Reserve(_ context.Context, node string, n int) (string, []uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, err := p.placeLocked(node)
	if err != nil {
		return "", nil, err
	}
	ports := make([]uint16, n)
	for i := range ports {
		if at.next == 0 {
			return "", nil, fmt.Errorf("node %s has no port left", node)
		}
		ports[i] = at.next
		at.next++
	}
	return at.ip.String(), ports, nil
}

func (p *Provider) placeLocked(node string) (*place, error) {
	if p.closed {
		return nil, errors.New("the provider is closed")
	}
	if at := p.places[node]; at != nil {
		return at, nil
	}
	ip, err := p.net.address()
	if err != nil {
		return nil, err
	}
	at := &place{ip: ip, next: firstPort}
	p.places[node] = at
	return at, nil
}

// Put implements provider.Provider: the files go into the container when it is
// made.
func (p *Provider) Put(_ context.Context, node string, files ...provider.File) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, err := p.placeLocked(node)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		at.files = append(at.files, inFile{path: privateDir + "/" + f.Name, data: f.Data, private: true})
	}
	return privateDir, nil
}

// Launch implements provider.Provider.
func (p *Provider) Launch(ctx context.Context, cfg nodeconfig.Config) (provider.Node, error) {
	cfg.TraceFile, cfg.Metrics.File = traceFile, metricsFile
	if cfg.DiskFaults != "" {
		cfg.DiskFaults = diskFile
	}
	configure := func(_ context.Context, data string) ([]inFile, error) {
		cfg.DataDir = data
		b, err := json.MarshalIndent(cfg, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write the configuration of %s: %w", cfg.Name, err)
		}
		return []inFile{{path: configFile, data: b, private: cfg.Secret()}}, nil
	}
	files, err := configure(ctx, dataDir)
	if err != nil {
		return nil, err
	}
	n, err := p.create(ctx, blueprint{
		name: cfg.Name, image: p.image, cmd: []string{"node", "--config", configFile},
		files: files, output: nodeFiles{traceFile, metricsFile},
	})
	if err != nil {
		return nil, err
	}
	n.disked, n.dataDir, n.configure = cfg.DiskFaults != "", dataDir, configure
	if err := n.Start(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// blueprint is a container to be made.
type blueprint struct {
	name, image string
	entrypoint  []string // nil for the image's
	user        string   // "" for the image's
	cmd         []string
	env         map[string]string
	files       []inFile
	output      nodeFiles
}

type inFile struct {
	path    string
	data    []byte
	private bool // for the container's root alone
}

// create makes a container on its reserved address, with a volume at /data,
// and does not start it.
func (p *Provider) create(ctx context.Context, bp blueprint) (*Node, error) {
	p.mu.Lock()
	at, err := p.placeLocked(bp.name)
	p.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", bp.name, err)
	}
	volume := p.volumeOf(bp.name)
	if _, err := p.engine.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: volume, Labels: p.copyLabels()}); err != nil {
		return nil, fmt.Errorf("create the volume of %s: %w", bp.name, err)
	}
	p.mu.Lock()
	p.volumes = append(p.volumes, volume)
	p.mu.Unlock()
	ctr, err := testcontainers.GenericContainer(ctx, p.request(bp, volume, at.ip))
	if ctr == nil {
		return nil, fmt.Errorf("create %s: %w", bp.name, err)
	}
	n := &Node{
		engine: p.engine, name: bp.name, addr: at.ip.String(), files: bp.output, tc: ctr, life: p.life,
		cpus: p.cfg.CPUs, agentImage: p.image, labels: p.copyLabels(),
	}
	p.mu.Lock() // it is there, whatever the error says
	p.nodes = append(p.nodes, n)
	p.mu.Unlock()
	if err == nil {
		err = n.copyTo(ctx, slices.Concat(bp.files, at.files))
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", bp.name, err)
	}
	return n, nil
}

// volumeOf names the volume of a node, and its container.
func (p *Provider) volumeOf(node string) string { return "kbench-" + p.cfg.Name + "-" + node }

// discard removes a container of the provider, and its volume, before Close.
func (p *Provider) discard(ctx context.Context, n *Node) error {
	volume := p.volumeOf(n.name)
	p.mu.Lock()
	p.nodes = slices.DeleteFunc(p.nodes, func(o *Node) bool { return o == n })
	p.volumes = slices.DeleteFunc(p.volumes, func(v string) bool { return v == volume })
	p.mu.Unlock()
	return errors.Join(n.remove(ctx), p.engine.removeVolume(ctx, volume))
}

func (p *Provider) request(bp blueprint, volume string, ip netip.Addr) testcontainers.GenericContainerRequest {
	netName := p.net.net.Name
	var host *container.HostConfig
	req := testcontainers.ContainerRequest{
		Name: volume, Image: bp.image, Entrypoint: bp.entrypoint, Cmd: bp.cmd, Env: bp.env, Labels: p.copyLabels(),
		Networks: []string{netName}, NetworkAliases: map[string][]string{netName: {bp.name}},
		ConfigModifier: func(c *container.Config) { c.Hostname, c.User = bp.name, bp.user },
		HostConfigModifier: func(h *container.HostConfig) {
			h.Mounts = []mount.Mount{{Type: mount.TypeVolume, Source: volume, Target: "/data"}}
			h.LogConfig = container.LogConfig{Type: "json-file"}
			h.NanoCPUs, h.Memory, h.MemorySwap = int64(p.cfg.CPUs*1e9), p.cfg.MemoryBytes, p.cfg.MemoryBytes
			host = h
		},
		EndpointSettingsModifier: func(m map[string]*network.EndpointSettings) {
			if m[netName] == nil { // the network is gone: let the engine say so
				m[netName] = &network.EndpointSettings{}
			}
			m[netName].IPAMConfig = &network.EndpointIPAMConfig{IPv4Address: ip}
		},
		// Testcontainers publishes every port that the image exposes, to the
		// whole world; this hook runs after that was set and before the engine
		// hears of it.
		LifecycleHooks: []testcontainers.ContainerLifecycleHooks{{
			PreCreates: []testcontainers.ContainerRequestHook{func(context.Context, testcontainers.ContainerRequest) error {
				host.PortBindings = nil
				return nil
			}},
		}},
	}
	return testcontainers.GenericContainerRequest{ContainerRequest: req}
}

// copyLabels gives a map of its own: testcontainers writes into it.
func (p *Provider) copyLabels() map[string]string {
	out := make(map[string]string, len(p.labels))
	for k, v := range p.labels {
		out[k] = v
	}
	return out
}

// closeWithin bounds Close where its context does not.
const closeWithin = 2 * time.Minute

// Close implements provider.Provider.
func (p *Provider) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	p.mu.Lock()
	nodes, volumes, net := p.nodes, p.volumes, p.net
	p.nodes, p.volumes, p.net, p.closed = nil, nil, nil, true
	p.mu.Unlock()
	err := inParallel(len(nodes), func(i int) error { return nodes[i].remove(ctx) })
	p.end()
	for _, n := range nodes {
		n.mu.Lock()
		r := n.run
		n.mu.Unlock()
		if r != nil {
			<-r.exited // bounded: p.end has ended its waits
		}
	}
	if net != nil {
		err = errors.Join(err, ignoreGone(net.remove(ctx)))
	}
	err = errors.Join(err, inParallel(len(volumes), func(i int) error { return p.engine.removeVolume(ctx, volumes[i]) }))
	return errors.Join(err, p.engine.Close())
}

func (e *Engine) removeVolume(ctx context.Context, name string) error {
	_, err := e.api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true})
	return ignoreGone(err)
}

// inParallel does n things, at most eight at once, and gives all their errors.
func inParallel(n int, do func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(8)
	errs := make([]error, n)
	for i := range n {
		g.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

// Binary is the path of the running program, for Config.
func Binary() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the kbench binary: %w", err)
	}
	return exe, nil
}

package docker

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"kbench/docker/images"
	"kbench/harness/jvm"
	"kbench/harness/provider"
	"kbench/harness/zookeeper"
)

// OfficialZooKeeper is the image that is looked for and pulled.
const OfficialZooKeeper = "zookeeper:3.9"

const (
	clientPort = "2181"
	heapMB     = 2048
	readyIn    = 90 * time.Second
)

// Ensemble is a real ZooKeeper in containers. It implements provider.Ensemble.
type Ensemble struct {
	nodes   []*jvmNode
	version string
	image   string
}

// Servers implements provider.Ensemble.
func (e *Ensemble) Servers() []string {
	var out []string
	for _, n := range e.nodes {
		out = append(out, net.JoinHostPort(n.addr, clientPort))
	}
	return out
}

// Description implements provider.Ensemble.
func (e *Ensemble) Description() string {
	what := fmt.Sprintf("ensemble of %d", len(e.nodes))
	if len(e.nodes) == 1 {
		what = "one server"
	}
	return fmt.Sprintf("ZooKeeper %s, %s, image %s", e.version, what, e.image)
}

// Members implements provider.Ensemble.
func (e *Ensemble) Members() []provider.Node {
	var out []provider.Node
	for _, n := range e.nodes {
		out = append(out, n)
	}
	return out
}

// zkImage is an image of ZooKeeper: the official one, whose entrypoint is a
// script of its own, or ours, whose entrypoint is java.
type zkImage struct {
	name     string
	official bool
}

// zooKeeperImage finds an image: the official one if it is here, ours if it is
// built or can be without asking anybody, else the official one pulled.
func (p *Provider) zooKeeperImage(ctx context.Context) (zkImage, error) {
	official := zkImage{p.cfg.ZooKeeperImage, true}
	if official.name == "" {
		official.name = OfficialZooKeeper
	}
	has, err := p.engine.hasImage(ctx, official.name)
	if err != nil || has {
		return official, err
	}
	ours, buildErr := ZooKeeperBuild()
	if buildErr == nil {
		if has, err := p.engine.hasImage(ctx, ours.Name); err != nil || has {
			return zkImage{ours.Name, false}, err
		}
	}
	pullErr := p.engine.pull(ctx, official.name)
	if pullErr == nil {
		return official, nil
	}
	if buildErr != nil {
		return official, fmt.Errorf("no image of ZooKeeper is to be had (%w): %w; and none can be built: %w", provider.ErrUnavailable, pullErr, buildErr)
	}
	return zkImage{ours.Name, false}, p.engine.Ensure(ctx, ours)
}

// ZooKeeperBuild is our own image, of this machine's ZooKeeper and Java.
func ZooKeeperBuild() (images.Build, error) {
	inst, err := zookeeper.Find()
	if err != nil {
		return images.Build{}, err
	}
	return images.ZooKeeper(inst.Version, inst.Java, inst.ClassPath)
}

// ZooKeeper implements provider.Provider.
func (p *Provider) ZooKeeper(ctx context.Context, z provider.ZooKeeper) (provider.Ensemble, error) {
	size := z.Size
	if size < 1 || size > 7 || size%2 == 0 {
		return nil, fmt.Errorf("an ensemble of %d servers is not served; use 1, 3, 5 or 7", size)
	}
	img, err := p.zooKeeperImage(ctx)
	if err != nil {
		return nil, err
	}
	e := &Ensemble{image: img.name}
	var quorum strings.Builder
	hosts := make([]string, size)
	for i := range size {
		if hosts[i], _, err = p.Reserve(ctx, zkName(i), 0); err != nil {
			return nil, err
		}
		if size > 1 {
			fmt.Fprintf(&quorum, "server.%d=%s:2888:3888\n", i+1, hosts[i])
		}
	}
	e.nodes = make([]*jvmNode, size)
	if err := inParallel(size, func(i int) error {
		n, err := p.create(ctx, img.blueprint(i, zookeeper.Settings(z.TickTime, "/data", hosts[i], clientPort, quorum.String()), z.Record))
		if err != nil {
			return err
		}
		n.figures = &figures{}
		e.nodes[i] = &jvmNode{n, z.Record}
		return n.Start(ctx)
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyIn)
	defer cancel()
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

func zkName(i int) string { return fmt.Sprintf("zookeeper-%d", i+1) }

func (img zkImage) blueprint(i int, settings string, record bool) blueprint {
	flags := zookeeper.Flags(heapMB)
	if record {
		flags = append(flags, jvm.RecordFlags(recordingDir)...)
	}
	bp := blueprint{
		name: zkName(i), image: img.name,
		files: []inFile{
			{path: "/conf/zoo.cfg", data: []byte(settings)},
			{path: "/conf/logback.xml", data: []byte(zookeeper.Logback)},
			{path: "/data/myid", data: fmt.Appendln(nil, i+1)},
		},
	}
	if img.official {
		bp.env = map[string]string{"SERVER_JVMFLAGS": strings.Join(flags, " "), "ZK_SERVER_HEAP": fmt.Sprint(heapMB)}
		return bp
	}
	bp.cmd = slices.Concat(flags, []string{"-cp", "/conf:/opt/zookeeper/lib/*", zookeeper.MainClass, "/conf/zoo.cfg"})
	return bp
}

// ready waits until every server serves and one leads.
func (e *Ensemble) ready(ctx context.Context) error {
	for {
		missing := ""
		leaders := 0
		for i, n := range e.nodes {
			if !n.Running() {
				return fmt.Errorf("%s has exited; its log ends: %s", n.name, n.logTail(ctx))
			}
			st, err := zookeeper.Ask(ctx, e.Servers()[i])
			if err != nil {
				missing = fmt.Sprintf("%s: %v", n.name, err)
				break
			}
			e.version = st.Version
			if st.Mode == "leader" || st.Mode == "standalone" {
				leaders++
			}
		}
		if missing == "" && leaders == 1 {
			return nil
		}
		if missing == "" {
			missing = fmt.Sprintf("%d leaders", leaders)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until ZooKeeper serves: %w; last seen: %s", context.Cause(ctx), missing)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

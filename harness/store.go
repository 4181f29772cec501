package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
)

// store is where a zk cluster keeps its metadata.
type store struct {
	servers     []string
	description string // as every report names it
	nodes       []provider.Node
}

// EmbeddedStore is how results name the embedded server: it is never called
// ZooKeeper, and it is not replicated.
const EmbeddedStore = "embedded, not replicated"

// openStore starts what the cell asks for: a real ZooKeeper, the embedded
// server, or for auto the first where it is to be had and else the second,
// with the reason. Real Kafka gets the real one. record has the JVMs of a real one
// record themselves.
func openStore(ctx context.Context, p provider.Provider, c spec.Cell, record bool, say func(string)) (store, error) {
	cfg := c.Config
	if cfg.Cluster.Store != spec.StoreEmbedded {
		e, err := p.ZooKeeper(ctx, provider.ZooKeeper{Size: cfg.Cluster.Ensemble, TickTime: cfg.ZK.TickTime, Record: record})
		if err == nil {
			return store{servers: e.Servers(), description: e.Description(), nodes: e.Members()}, nil
		}
		must := cfg.Cluster.Store == spec.StoreZooKeeper || c.Target.Kafka() != ""
		if must || ctx.Err() != nil || !errors.Is(err, provider.ErrUnavailable) {
			return store{}, fmt.Errorf("start ZooKeeper: %w", err)
		}
		say(fmt.Sprintf("store: the embedded server, since there is no ZooKeeper here: %v", err))
	}
	return openEmbedded(ctx, p, cfg.ZK.TickTime, diskFaults(c))
}

func openEmbedded(ctx context.Context, p provider.Provider, tick time.Duration, faults string) (store, error) {
	const name = "zookeeper-embedded"
	host, ports, err := p.Reserve(ctx, name, 1)
	if err != nil {
		return store{}, err
	}
	cfg := nodeconfig.Config{
		Name: name, Role: nodeconfig.RoleZooKeeper, Mode: nodeconfig.ModeZK, DiskFaults: faults,
		ZKServer: nodeconfig.ZKServer{Host: host, Port: ports[0], TickTime: nodeconfig.Duration(tick)},
	}
	n, err := p.Launch(ctx, cfg)
	if err != nil {
		return store{}, fmt.Errorf("start the embedded store: %w", err)
	}
	return store{
		servers:     []string{fmt.Sprintf("%s:%d", host, ports[0])},
		description: EmbeddedStore,
		nodes:       []provider.Node{n},
	}, nil
}

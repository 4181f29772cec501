package workloads

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// place gives every partition of a topic its replicas, as Kafka's placement
// does, on the brokers that host replicas. Topics are created with these on
// every target: a controller's own choice would differ from target to target,
// and real candidates of ZooKeeper mode, which are brokers too, would get
// replicas. The same name on the same brokers has the same replicas, so that a
// further try asks for what the first one did.
func place(c Cluster, t newTopic) ([][]kafka.BrokerID, error) {
	nodes := liveBrokers(c)
	if len(nodes) < int(t.replication) {
		nodes = c.Brokers()
	}
	brokers := make([]metadata.PlacementBroker, len(nodes))
	for i, n := range nodes {
		brokers[i].ID = n.ID
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.name))
	placed, err := metadata.Place(rand.New(rand.NewPCG(h.Sum64(), streamPlacement)), brokers, int(t.partitions), int(t.replication))
	if err != nil {
		return nil, fmt.Errorf("place topic %s: %w", t.name, err)
	}
	return placed, nil
}

package harness

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/ask"
	"kbench/kafka/wire"
	"kbench/workloads"
)

// metadataVersion has leader epochs (7) and topic ids (10); every broker of
// kbench and of Kafka since 2.8 serves it.
const metadataVersion = 12

// view is what one broker answers to Metadata.
type view struct {
	controller      kafka.BrokerID // the controller as brokers tell clients; in KRaft any broker
	brokers         []kafka.BrokerID
	topics          int
	partitions      int
	leaderless      int // partitions without a leader
	underReplicated int // partitions whose ISR is not all replicas
	notPreferred    int // partitions led by another than their first replica
	// digest sums over topic ids, replicas, leaders, epochs and ISRs, whatever
	// their order: equal metadata, equal digest.
	digest uint64
}

// whole reports whether every partition has a leader and a full ISR.
func (v view) whole() bool { return v.leaderless == 0 && v.underReplicated == 0 }

func (v view) String() string {
	return fmt.Sprintf("%d brokers, %d topics, %d partitions, %d leaderless, %d under-replicated",
		len(v.brokers), v.topics, v.partitions, v.leaderless, v.underReplicated)
}

// lookAt asks a broker for the metadata of topics and sums it up;
// nil means all topics.
func lookAt(ctx context.Context, n workloads.Node, topics []string) (view, error) {
	m, err := fetchMetadata(ctx, n, topics)
	if err != nil {
		return view{}, err
	}
	return summarise(m), nil
}

// dial opens a connection of kbench's own to a node.
func dial(ctx context.Context, n workloads.Node) (*wire.Conn, error) {
	return wire.Dial(ctx, n.Addr, wire.DialOptions{ClientID: "kbench-health"}.As(n.As))
}

// fetchMetadata asks a broker for the metadata of topics; nil means
// all.
func fetchMetadata(ctx context.Context, n workloads.Node, topics []string) (*kmsg.MetadataResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := dial(ctx, n)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	req := ask.Everything()
	if topics != nil {
		req = ask.Topics(topics)
	}
	req.SetVersion(metadataVersion)
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("metadata from %s: %w", n.Addr, err)
	}
	return resp.(*kmsg.MetadataResponse), nil
}

func summarise(m *kmsg.MetadataResponse) view {
	v := view{controller: kafka.BrokerID(m.ControllerID), topics: len(m.Topics)}
	for _, b := range m.Brokers {
		v.brokers = append(v.brokers, kafka.BrokerID(b.NodeID))
	}
	slices.Sort(v.brokers)
	for i := range m.Topics {
		t := &m.Topics[i]
		if t.ErrorCode != 0 {
			v.leaderless++
			continue
		}
		for j := range t.Partitions {
			v.add(t.TopicID, &t.Partitions[j])
		}
	}
	return v
}

func (v *view) add(topic [16]byte, p *kmsg.MetadataResponseTopicPartition) {
	v.partitions++
	if p.Leader < 0 {
		v.leaderless++
	}
	if len(p.ISR) < len(p.Replicas) {
		v.underReplicated++
	}
	if len(p.Replicas) > 0 && p.Leader != p.Replicas[0] {
		v.notPreferred++
	}
	h := fnv.New64a()
	_, _ = h.Write(topic[:])
	put := func(n int32) { _, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	put(p.Partition)
	put(p.Leader)
	put(p.LeaderEpoch)
	for _, r := range p.Replicas {
		put(r)
	}
	put(-1)
	isr := slices.Clone(p.ISR)
	slices.Sort(isr)
	for _, r := range isr {
		put(r)
	}
	v.digest += h.Sum64()
}

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// eventually waits until look gives nil, and fails with what it gave last.
func eventually(t *testing.T, what string, look func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	for {
		err := look(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %v %s is not so: %v", recovery, what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// errAbsent says that there is no such znode, topic or broker.
var errAbsent = errors.New("there is none")

// awaitServing waits until brokers are registered and answer: a real one opens
// its listeners after its registration.
func (c *cluster) awaitServing(t *testing.T, ids ...broker) {
	t.Helper()
	for _, id := range ids {
		cl := c.asked(t, id)
		eventually(t, fmt.Sprintf("broker %d serves", id), func(ctx context.Context) error {
			if !c.nodes[id].Running() {
				t.Fatalf("broker %d has ended", id)
			}
			if err := c.registered(ctx, id); err != nil {
				return err
			}
			_, err := cl.SeedBrokers()[0].Request(ctx, kmsg.NewPtrApiVersionsRequest())
			return err
		})
	}
}

func (c *cluster) awaitGone(t *testing.T, id broker) {
	t.Helper()
	eventually(t, fmt.Sprintf("the end of the session of broker %d", id), func(ctx context.Context) error {
		err := c.registered(ctx, id)
		if errors.Is(err, errAbsent) {
			return nil
		}
		return errors.Join(errors.New("it is registered"), err)
	})
}

// asked gives a client that asks one broker alone.
func (c *cluster) asked(t *testing.T, id broker) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.addr(id)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// partition is what a broker says of one.
type partition struct {
	leader, preferred broker
	replicas, isr     []broker // sorted
}

// metadata is what a broker says of a topic, by partition; errAbsent that it
// knows no such topic, another error of package kerr what it says instead.
func metadata(ctx context.Context, cl *kgo.Client, topic string) (map[int32]partition, error) {
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &topic
	req.Topics = append(req.Topics, one)
	reply, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return nil, err
	}
	told := reply.(*kmsg.MetadataResponse).Topics[0]
	switch told.ErrorCode {
	case 0:
	case kerr.UnknownTopicOrPartition.Code:
		return nil, errAbsent
	default:
		return nil, kerr.ErrorForCode(told.ErrorCode)
	}
	out := map[int32]partition{}
	for _, p := range told.Partitions {
		out[p.Partition] = partition{leader: broker(p.Leader), preferred: broker(p.Replicas[0]), replicas: ids(p.Replicas), isr: ids(p.ISR)}
	}
	return out, nil
}

func ids(in []int32) []broker {
	out := make([]broker, len(in))
	for i, id := range in {
		out[i] = broker(id)
	}
	slices.Sort(out)
	return out
}

// awaitTopic waits until every broker named says of every partition of a topic
// what is so.
func (c *cluster) awaitTopic(t *testing.T, on []broker, topic string, partitions int, so func(int32, partition) error) {
	t.Helper()
	for _, id := range on {
		cl := c.asked(t, id)
		eventually(t, fmt.Sprintf("on broker %d: %s", id, topic), func(ctx context.Context) error {
			told, err := metadata(ctx, cl, topic)
			if err != nil {
				return err
			}
			if len(told) != partitions {
				return fmt.Errorf("%d partitions, not %d", len(told), partitions)
			}
			for n, p := range told {
				if err := so(n, p); err != nil {
					return fmt.Errorf("partition %d: %w: %+v", n, err, p)
				}
			}
			return nil
		})
	}
}

// replicated says that a partition has a leader and all its replicas in sync,
// on the brokers named or on any.
func replicated(on ...broker) func(int32, partition) error {
	return func(_ int32, p partition) error {
		switch {
		case len(on) > 0 && !slices.Equal(p.replicas, on):
			return fmt.Errorf("its replicas are not %d", on)
		case !slices.Contains(p.replicas, p.leader):
			return errors.New("it has no leader")
		case !slices.Equal(p.isr, p.replicas):
			return errors.New("not all are in sync")
		}
		return nil
	}
}

// preferred says that a partition is led by the first of its replicas.
func preferred(_ int32, p partition) error {
	if p.leader != p.preferred {
		return errors.New("another one leads it")
	}
	return nil
}

// notLedBy says that a partition has another leader, and the broker is out of
// its ISR.
func notLedBy(gone broker) func(int32, partition) error {
	return func(_ int32, p partition) error {
		if p.leader < 0 || p.leader == gone || slices.Contains(p.isr, gone) {
			return fmt.Errorf("broker %d leads it or is in sync", gone)
		}
		return nil
	}
}

// directories are those of a topic's replicas on the disk of a real broker.
func (c *cluster) directories(id broker, topic string) []string {
	var out []string
	for _, dir := range c.logDirs[id] {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return []string{err.Error()}
		}
		for _, e := range entries {
			// A deleted one is renamed first: TOPIC-0.HASH-delete.
			if name := e.Name(); strings.HasPrefix(name, topic+"-") || strings.HasPrefix(name, topic+".") {
				out = append(out, name)
			}
		}
	}
	return out
}

// awaitDirectories waits until a broker has just that many.
func (c *cluster) awaitDirectories(t *testing.T, id broker, topic string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("on the disk of broker %d: %d replicas of %s", id, n, topic), func(context.Context) error {
		if got := c.directories(id, topic); len(got) != n {
			return fmt.Errorf("there are %q", got)
		}
		return nil
	})
}

// bytesOf is the size of a replica's segments.
func (c *cluster) bytesOf(id broker, topic string, n int32) int64 {
	var sum int64
	for _, dir := range c.logDirs[id] {
		files, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%s-%d", topic, n), "*.log"))
		for _, f := range files {
			if st, err := os.Stat(f); err == nil {
				sum += st.Size()
			}
		}
	}
	return sum
}

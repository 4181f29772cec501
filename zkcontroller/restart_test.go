package zkcontroller

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/zkserver"
	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// The store goes away in the middle of a flow and comes back, within the
// session's time-out and after it: nothing hangs, nothing acknowledged is lost,
// and all brokers come to agree with the znodes.
func TestStoreRestartsMidFlow(t *testing.T) {
	for _, away := range []time.Duration{50 * time.Millisecond, brief + 2*time.Second} {
		t.Run(fmt.Sprintf("away=%v", away), func(t *testing.T) {
			dir := t.TempDir()
			up := func(addr string) *zkserver.Server {
				srv, err := zkserver.New(zkserver.Config{Listen: addr, DataDir: dir, TickTime: 50 * time.Millisecond, MaxSessionTimeout: brief, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				go srv.Serve()
				return srv
			}
			addr := fmt.Sprintf("127.0.0.1:%d", heldtest.Port(t))
			srv := up(addr)
			t.Setenv("KBENCH_TEST_ZOOKEEPER", addr)
			c := newCluster(t)
			defer func() { srv.Close() }()
			for id := range kafka.BrokerID(3) {
				c.start(id+1, true)
			}
			a := c.active()
			c.eventually("all are known", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.live) == 3 })
			req := kmsg.NewPtrCreateTopicsRequest()
			req.TimeoutMillis = int32(patience.Milliseconds())
			for i := range 20 {
				topic := kmsg.NewCreateTopicsRequestTopic()
				topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fmt.Sprintf("t%d", i), 50, 3
				req.Topics = append(req.Topics, topic)
			}
			answer := make(chan *kmsg.CreateTopicsResponse, 1)
			go func() { answer <- c.askFor(a, req, 7, 2*patience).(*kmsg.CreateTopicsResponse) }()
			c.eventually("the creation is under way", func() bool {
				return c.zk.Do(context.Background(), zk.Exists(zk.StatePath("t3", 7))).Exists
			})
			srv.Close()
			time.Sleep(away) // the outage itself, not a wait for anything
			srv = up(addr)
			resp := <-answer
			acked := map[string]bool{}
			for _, x := range resp.Topics {
				switch kafka.ErrorCode(x.ErrorCode) {
				case kafka.None:
					acked[x.Topic] = true
				case kafka.NotController, kafka.RequestTimedOut:
				default:
					t.Errorf("%s: %v", x.Topic, kafka.ErrorCode(x.ErrorCode))
				}
			}
			t.Logf("%d topics acknowledged", len(acked))
			c.active()
			look := c.connect(zk.Config{})
			c.eventually("all agree", func() bool {
				c.rejoin()
				if look.Err() != nil {
					look = c.connect(zk.Config{})
				}
				return c.agree(look, acked)
			})
		})
	}
}

// rejoin registers brokers again whose own session did not outlive the outage.
func (c *cluster) rejoin() {
	for _, b := range c.brokers {
		if b.session.Err() == nil && b.session.Do(context.Background(), zk.Get("/")).Err == nil {
			continue
		}
		previous := b.session.ID()
		b.session.Close(context.Background())
		b.session = c.connect(zk.Config{PreviousSession: previous})
		epoch, err := b.session.RegisterBroker(context.Background(), zk.BrokerRegistration{ID: b.id, Endpoints: []kafka.Endpoint{b.ep}})
		if err != nil {
			c.t.Log(err) // a busy machine outsat this session too: the next look tries again
			continue
		}
		b.mu.Lock()
		b.epoch = epoch
		b.mu.Unlock()
	}
}

// agree compares every broker's metadata with the znodes.
func (c *cluster) agree(s *zk.Session, must map[string]bool) bool {
	ctx := context.Background()
	topics := s.Do(ctx, zk.Children(zk.TopicsPath))
	have := map[string]bool{}
	for _, name := range topics.Children {
		have[name] = true
		r := s.Do(ctx, zk.Get(zk.TopicPath(name)))
		a, err := zk.DecodeTopic(r.Data)
		if err != nil {
			return false
		}
		for p := range a.Partitions {
			g := s.Do(ctx, zk.Get(zk.StatePath(name, p)))
			st, err := zk.DecodeState(g.Data)
			if err != nil || st.Leader < 0 {
				return false
			}
			for _, b := range c.brokers {
				if leader, epoch, _ := b.leader(name, p); leader != int32(st.Leader) || epoch != int32(st.LeaderEpoch) {
					return false
				}
			}
		}
	}
	for name := range must {
		if !have[name] {
			c.t.Fatalf("topic %s was acknowledged and is lost", name)
		}
	}
	return topics.Err == nil
}

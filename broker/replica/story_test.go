package replica

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/batch"
	"kbench/kafka"
	"kbench/kafka/metadata"
)

const second = int64(time.Second)

// cluster is a few Managers joined by hand-carried fetches, with one clock and
// a controller that is a map.
type cluster struct {
	t        testing.TB
	now      int64
	nodes    map[kafka.BrokerID]*Manager
	fetchers map[[2]kafka.BrokerID]*Fetcher
	truth    map[kafka.TopicPartition]*metadata.Partition
	dead     map[kafka.BrokerID]bool // not eligible for an ISR
	parked   map[[2]kafka.BrokerID]*FollowerFetch
	dirs     int // log directories of brokers that boot
}

func newCluster(t testing.TB, n int) *cluster {
	c := &cluster{
		t: t, now: 1000 * second, nodes: map[kafka.BrokerID]*Manager{}, fetchers: map[[2]kafka.BrokerID]*Fetcher{},
		truth: map[kafka.TopicPartition]*metadata.Partition{}, dead: map[kafka.BrokerID]bool{},
		parked: map[[2]kafka.BrokerID]*FollowerFetch{},
	}
	for id := kafka.BrokerID(1); id <= kafka.BrokerID(n); id++ {
		c.boot(id)
	}
	return c
}

// boot starts a broker without memory.
func (c *cluster) boot(id kafka.BrokerID) {
	c.nodes[id] = NewManager(Config{
		Self: id, LagMax: 10 * time.Second, FetchBackoff: time.Second, Dirs: c.dirs,
		OnFetcher: func(f *Fetcher) { c.fetchers[[2]kafka.BrokerID{id, f.Leader()}] = f },
	})
}

func topicID(name string) kafka.UUID { return kafka.UUID([]byte(fmt.Sprintf("%16s", name))[:16]) }

func (c *cluster) change(tp kafka.TopicPartition) Change {
	return Change{Topic: tp.Topic, TopicID: topicID(tp.Topic), Partition: tp.Partition, State: c.truth[tp]}
}

// fetch carries one request of a follower to its leader and the answer back.
func (c *cluster) fetch(follower, leader kafka.BrokerID) string {
	f := c.fetchers[[2]kafka.BrokerID{follower, leader}]
	if f == nil {
		return "no fetcher"
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version = 15
	wait, ok := c.nodes[follower].Build(c.now, f, req, 500*time.Millisecond)
	if !ok {
		return "nothing to fetch"
	}
	listed := listing(req)
	ff := c.nodes[leader].Fetch(c.now, follower, kafka.NoBrokerEpoch, req)
	ready := ff.Ready()
	resp := kmsg.NewPtrFetchResponse()
	ff.Answer(c.now, resp)
	out := fmt.Sprintf("%s wait=%v ready=%v -> %s", listed, wait, ready, answering(resp))
	if err := c.nodes[follower].Handle(c.now, f, resp); err != nil {
		c.nodes[follower].Reset(f)
		out += " reset"
	}
	return out
}

func listing(req *kmsg.FetchRequest) string {
	s := fmt.Sprintf("epoch=%d", req.SessionEpoch)
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			s += fmt.Sprintf(" %s-%d@%d", t.Topic, p.Partition, p.FetchOffset)
		}
	}
	for _, t := range req.ForgottenTopics {
		for _, p := range t.Partitions {
			s += fmt.Sprintf(" forget %s-%d", t.Topic, p)
		}
	}
	return s
}

func answering(resp *kmsg.FetchResponse) string {
	if resp.ErrorCode != 0 {
		return kafka.ErrorCode(resp.ErrorCode).String()
	}
	s := ""
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			s += fmt.Sprintf(" %s-%d", strings.TrimSpace(string(t.TopicID[:])), p.Partition)
			switch {
			case p.ErrorCode != 0:
				s += " " + kafka.ErrorCode(p.ErrorCode).String()
			case p.DivergingEpoch.EndOffset >= 0:
				s += fmt.Sprintf(" diverges at %d", p.DivergingEpoch.EndOffset)
			default:
				s += fmt.Sprintf(" hw=%d", p.HighWatermark)
				if len(p.RecordBatches) > 0 {
					s += " data"
				}
			}
		}
	}
	return strings.TrimSpace(s)
}

func (c *cluster) eligible(id kafka.BrokerID) (kafka.BrokerEpoch, bool) {
	return kafka.BrokerEpoch(id) * 100, !c.dead[id]
}

// alter carries a leader's proposals to the controller and back. What how says
// goes wrong: "ineligible" refuses, "conflict" says that another has written,
// "unsent" loses the request, "lost" the answer.
func (c *cluster) alter(leader kafka.BrokerID, how string) string {
	m := c.nodes[leader]
	proposals, _ := m.Take(c.now, 100, c.eligible)
	out := ""
	for _, p := range proposals {
		var isr []kafka.BrokerID
		for _, member := range p.ISR {
			isr = append(isr, member.ID)
		}
		out += fmt.Sprintf("%s-%d isr=%v epochs=%d/%d", p.Topic, p.Partition, isr, p.LeaderEpoch, p.PartitionEpoch)
		var o Outcome
		switch how {
		case "ineligible":
			o.Code = kafka.IneligibleReplica
		case "conflict":
			o.Code = kafka.InvalidUpdateVersion
		case "unsent":
			o.Code = kafka.NetworkException
		default:
			o = c.decide(p, isr)
		}
		if how == "lost" {
			o = Outcome{Code: kafka.NetworkException}
		}
		if o.Code != kafka.None {
			out += " " + o.Code.String()
		}
		if m.Complete(p, o) {
			out += ", waits"
		}
		out += "\n"
	}
	if out == "" {
		return "none"
	}
	return out
}

// decide is what a controller makes of a proposal: one that is written already
// is fine, whatever its partition epoch (KAFKA-14144).
func (c *cluster) decide(p *Proposal, isr []kafka.BrokerID) Outcome {
	tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	s := *c.truth[tp]
	switch {
	case p.LeaderEpoch != s.LeaderEpoch:
		return Outcome{Code: kafka.FencedLeaderEpoch}
	case slices.Equal(slices.Sorted(slices.Values(isr)), slices.Sorted(slices.Values(s.ISR))):
	case p.PartitionEpoch != s.PartitionEpoch:
		return Outcome{Code: kafka.InvalidUpdateVersion}
	default:
		s.ISR, s.PartitionEpoch = isr, s.PartitionEpoch+1
		c.truth[tp] = &s
	}
	return Outcome{Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, ISR: s.ISR}
}

func (c *cluster) show(tp kafka.TopicPartition) string {
	out := ""
	for id := kafka.BrokerID(1); int(id) <= len(c.nodes); id++ {
		i, ok := c.nodes[id].Info(tp)
		if !ok {
			continue
		}
		out += fmt.Sprintf("%d: leader=%d epoch=%d/%d log=%d hw=%d", id, i.Leader, i.LeaderEpoch, i.PartitionEpoch, i.LogEnd, i.HighWatermark)
		if i.ISR != nil {
			out += fmt.Sprintf(" isr=%v", i.ISR)
		}
		if c.dirs > 0 {
			out += fmt.Sprintf(" dir=%d", i.Dir)
		}
		if i.Offline {
			out += " offline"
		}
		out += "\n"
	}
	return out
}

func ids(t testing.TB, s string) []kafka.BrokerID {
	var out []kafka.BrokerID
	for _, f := range strings.Split(s, ",") {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, kafka.BrokerID(n))
	}
	return out
}

func parse(t testing.TB, s string) kafka.TopicPartition {
	topic, p, _ := strings.Cut(s, "-")
	n, err := strconv.Atoi(p)
	if err != nil {
		t.Fatal(err)
	}
	return kafka.TopicPartition{Topic: topic, Partition: int32(n)}
}

// TestStories runs the life of a few partitions on three brokers.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := newCluster(t, 3)
		waits := map[string]*Acks{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var at, name, brokers, isr string
			var n int64
			var by, of int
			d.MaybeScanArgs(t, "tp", &at)
			d.MaybeScanArgs(t, "n", &n)
			d.MaybeScanArgs(t, "by", &by)
			d.MaybeScanArgs(t, "of", &of)
			d.MaybeScanArgs(t, "name", &name)
			tp := kafka.TopicPartition{}
			if at != "" {
				tp = parse(t, at)
			}
			switch d.Cmd {
			case "elect": // the controller decides; no broker knows yet
				s := metadata.Partition{Leader: kafka.BrokerID(by)}
				if old := c.truth[tp]; old != nil {
					s = *old
					s.Leader, s.LeaderEpoch, s.PartitionEpoch = kafka.BrokerID(by), s.LeaderEpoch+1, s.PartitionEpoch+1
				}
				if d.MaybeScanArgs(t, "replicas", &brokers) {
					s.Replicas, s.ISR = ids(t, brokers), ids(t, brokers)
				}
				if d.MaybeScanArgs(t, "isr", &isr) {
					s.ISR = ids(t, isr)
				}
				c.truth[tp] = &s
				return s.String()
			case "learn":
				change := c.change(tp)
				change.Dir = int(n)
				return fmt.Sprint(c.nodes[kafka.BrokerID(by)].Apply(c.now, []Change{change}))
			case "fetch":
				return c.fetch(kafka.BrokerID(by), kafka.BrokerID(of))
			case "reset":
				c.nodes[kafka.BrokerID(by)].Reset(c.fetchers[[2]kafka.BrokerID{kafka.BrokerID(by), kafka.BrokerID(of)}])
				return ""
			case "append":
				a := Append{Topic: tp.Topic, Partition: tp.Partition, Batch: batch.Header{Count: int32(n), ProducerID: batch.NoProducer}, MinISR: 1}
				d.MaybeScanArgs(t, "min", &a.MinISR)
				if name != "" {
					a.Wait = NewAcks()
					waits[name] = a.Wait
				}
				r := c.nodes[kafka.BrokerID(by)].Append(c.now, a)
				return fmt.Sprintf("%s at %d", r.Code, r.Base)
			case "acked":
				select {
				case <-c.nodes[kafka.BrokerID(by)].Seal(waits[name]):
					return fmt.Sprint(c.nodes[kafka.BrokerID(by)].Finish(waits[name]))
				default:
					waits[name].sealed = false // asked again later
					return "waits"
				}
			case "alter":
				return c.alter(kafka.BrokerID(by), name)
			case "retry":
				return fmt.Sprint(c.nodes[kafka.BrokerID(by)].RetryISR())
			case "lag":
				c.nodes[kafka.BrokerID(by)].CheckLag(c.now)
				return ""
			case "sleep":
				c.now += n * int64(time.Millisecond)
				return ""
			case "fence":
				c.dead[kafka.BrokerID(by)] = true
				return ""
			case "unfence":
				delete(c.dead, kafka.BrokerID(by))
				for _, m := range c.nodes {
					m.BrokersChanged([]kafka.BrokerID{kafka.BrokerID(by)})
				}
				return ""
			case "boot":
				d.MaybeScanArgs(t, "dirs", &c.dirs)
				c.boot(kafka.BrokerID(by))
				return ""
			case "remove":
				return fmt.Sprint(c.nodes[kafka.BrokerID(by)].Remove(tp))
			case "fail-dir":
				return fmt.Sprint(c.nodes[kafka.BrokerID(by)].FailDir(int(n)))
			case "checkpoints":
				return fmt.Sprint(c.nodes[kafka.BrokerID(by)].Checkpoints())
			case "show":
				return c.show(tp)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// TestRandomHistories lets leaders move, brokers restart, fetches and answers
// to AlterPartition be lost, and checks after every step what must hold: a high
// watermark at a leader never passes what the ISR that the controller wrote has,
// and never goes back in one leader epoch; at the end, in quiet, every ISR is
// whole and all logs are equal. A leader that asked for an ISR learns what is
// new by the answer alone: in ZooKeeper mode nobody tells it otherwise.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := newCluster(t, 3)
		var tps []kafka.TopicPartition
		for p := range int32(4) {
			tp := kafka.TopicPartition{Topic: "t", Partition: p}
			tps = append(tps, tp)
			c.truth[tp] = &metadata.Partition{Replicas: []kafka.BrokerID{1, 2, 3}, ISR: []kafka.BrokerID{1, 2, 3}, Leader: 1}
		}
		high := map[string]kafka.Offset{}
		for range 400 {
			c.randomStep(rng, tps)
			c.check(seed, tps, high)
		}
		c.settle(tps)
		for _, tp := range tps {
			leader, _ := c.nodes[c.truth[tp].Leader].Info(tp)
			for id, m := range c.nodes {
				i, ok := m.Info(tp)
				if !ok || i.LogEnd != leader.LogEnd || len(c.truth[tp].ISR) != 3 {
					t.Fatalf("seed %d: %s at %d did not settle: %+v, leader %+v, truth %v", seed, tp, id, i, leader, c.truth[tp])
				}
			}
		}
	}
}

func (c *cluster) randomStep(rng *rand.Rand, tps []kafka.TopicPartition) {
	tp := tps[rng.IntN(len(tps))]
	node := kafka.BrokerID(rng.IntN(3) + 1)
	m := c.nodes[node]
	c.now += int64(rng.IntN(300)) * int64(time.Millisecond)
	switch rng.IntN(12) {
	case 0:
		s := *c.truth[tp]
		s.Leader = s.ISR[rng.IntN(len(s.ISR))]
		s.LeaderEpoch, s.PartitionEpoch = s.LeaderEpoch+1, s.PartitionEpoch+1
		c.truth[tp] = &s
	case 1, 2, 3:
		c.tell(m, tps)
	case 4, 5, 6, 7:
		other := kafka.BrokerID(rng.IntN(3) + 1)
		if node != other {
			c.fetch(node, other)
		}
	case 8, 9:
		m.Append(c.now, Append{Topic: tp.Topic, Partition: tp.Partition, Batch: batch.Header{Count: int32(rng.IntN(3) + 1), ProducerID: batch.NoProducer}})
	case 10:
		m.CheckLag(c.now)
		m.RetryISR()
		c.alter(node, []string{"", "unsent", "lost", "ineligible"}[rng.IntN(4)])
	case 11:
		other := kafka.BrokerID(rng.IntN(3) + 1)
		if f := c.fetchers[[2]kafka.BrokerID{node, other}]; f != nil {
			m.Reset(f)
		}
	}
}

// tell lets a broker know of new leader epochs, as LeaderAndIsr does.
func (c *cluster) tell(m *Manager, tps []kafka.TopicPartition) {
	for _, tp := range tps {
		if held, ok := m.Held(tp); !ok || held.LeaderEpoch < c.truth[tp].LeaderEpoch {
			m.Apply(c.now, []Change{c.change(tp)})
		}
	}
}

func (c *cluster) check(seed uint64, tps []kafka.TopicPartition, high map[string]kafka.Offset) {
	for id, m := range c.nodes {
		for _, tp := range tps {
			i, ok := m.Info(tp)
			if !ok {
				continue
			}
			if i.HighWatermark > i.LogEnd {
				c.t.Fatalf("seed %d: %s at %d: high watermark past the log: %+v", seed, tp, id, i)
			}
			if i.Leader != id {
				continue
			}
			if s := c.truth[tp]; s.LeaderEpoch == i.LeaderEpoch {
				for _, in := range s.ISR {
					if f, _ := c.nodes[in].Info(tp); i.HighWatermark > f.LogEnd {
						c.t.Fatalf("seed %d: %s: the high watermark passes the log of %d in ISR %v: %+v", seed, tp, in, s.ISR, i)
					}
				}
			}
			key := fmt.Sprintf("%s/%d", tp, i.LeaderEpoch)
			if i.HighWatermark < high[key] {
				c.t.Fatalf("seed %d: %s at %d: high watermark went back from %d: %+v", seed, tp, id, high[key], i)
			}
			high[key] = i.HighWatermark
		}
	}
}

// settle lets all brokers learn all and fetch until nothing changes.
func (c *cluster) settle(tps []kafka.TopicPartition) {
	for range 20 {
		c.now += 2 * second
		for id, m := range c.nodes {
			c.tell(m, tps)
			for other := kafka.BrokerID(1); other <= 3; other++ {
				if other != id {
					c.fetch(id, other)
				}
			}
			m.RetryISR()
			c.alter(id, "")
		}
	}
}

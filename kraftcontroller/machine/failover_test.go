package machine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// quorum is three machines over one log, of which one leads: what Raft makes
// of them, without Raft. An answer is a promise that its records stay.
type quorum struct {
	t       *rapid.T
	now     time.Duration
	log     []logged
	nodes   []*quorumNode
	active  int
	epoch   kafka.LeaderEpoch
	stable  kafka.Offset
	ids     uint64
	asked   map[uint64]kmsg.Request
	topics  map[string]bool // as answered
	ids1000 map[int64]bool  // producer id blocks answered
	// images at offsets, by whichever node was there first
	digests map[kafka.Offset]uint64
	offered map[kafka.BrokerID]kafka.BrokerEpoch
	seen    map[string]int // what happened, for the test to know that it tests
	elr     bool           // ISRs may be empty, from when ELR was ever on
}

type quorumNode struct {
	m    *Machine
	done kafka.Offset // last offset stepped in as committed
	last *metadata.Image
}

func newQuorum(t *rapid.T, level metadata.MetadataVersion) *quorum {
	q := &quorum{
		t: t, stable: kafka.NoOffset, asked: map[uint64]kmsg.Request{}, topics: map[string]bool{}, ids1000: map[int64]bool{},
		digests: map[kafka.Offset]uint64{}, offered: map[kafka.BrokerID]kafka.BrokerEpoch{},
		seen: map[string]int{},
	}
	for i := range 3 {
		m, err := New(Config{
			ClusterID: testCluster, MetadataVersion: level, MaxRecords: 7, NoOpInterval: 700 * time.Millisecond,
			LeaderBalanceInterval: 5 * time.Second, UncleanElectionInterval: 6 * time.Second,
			Rand: rand.New(rand.NewPCG(1, uint64(i))),
		})
		if err != nil {
			t.Fatal(err)
		}
		q.nodes = append(q.nodes, &quorumNode{m: m, done: kafka.NoOffset, last: metadata.Empty()})
	}
	q.elect(0)
	for id := range int32(5) {
		q.ask(registration(id, 1))
	}
	q.commitAll()
	for id := range int32(5) {
		q.beat(id, false, false)
	}
	q.commitAll()
	return q
}

func (q *quorum) commitAll() {
	q.stable = kafka.Offset(len(q.log)) - 1
	for node := range q.nodes {
		q.deliver(node)
	}
}

func (q *quorum) beat(id int32, fence, shutdown bool) {
	r := kmsg.NewPtrBrokerHeartbeatRequest()
	r.BrokerID, r.CurrentMetadataOffset, r.WantFence, r.WantShutdown = id, int64(q.stable), fence, shutdown
	if b, ok := q.nodes[q.active].m.Working().Broker(kafka.BrokerID(id)); ok {
		r.BrokerEpoch = int64(b.Epoch)
	}
	q.ask(r)
}

// elect makes a node the leader of the next epoch; the log keeps what is
// stable and as much more as was drawn. One that leads again may not have
// noticed that it did not meanwhile.
func (q *quorum) elect(node int) {
	if q.epoch > 0 {
		if node != q.active || rapid.Bool().Draw(q.t, "noticed") {
			q.step(q.active, Renounce{})
		}
		keep := rapid.IntRange(int(q.stable)+1, len(q.log)).Draw(q.t, "kept")
		for keep > int(q.stable)+1 && !q.log[keep-1].end {
			keep--
		}
		q.log = q.log[:keep]
	}
	// What the new leader has is committed before it claims.
	q.epoch++
	q.active = node
	q.log = append(q.log, logged{epoch: q.epoch, control: true, end: true})
	q.stable = kafka.Offset(len(q.log)) - 2
	q.deliver(node)
	q.step(node, Claim{Epoch: q.epoch, NextOffset: kafka.Offset(len(q.log))})
}

// deliver steps what is committed and not yet known to a node.
func (q *quorum) deliver(node int) {
	n := q.nodes[node]
	for n.done < q.stable {
		first := q.log[n.done+1]
		in := Committed{BaseOffset: n.done + 1, Epoch: first.epoch, Control: first.control}
		for {
			n.done++
			in.Values = append(in.Values, q.log[n.done].value)
			if q.log[n.done].end {
				break
			}
		}
		q.step(node, in)
		q.checkStable(node)
	}
}

func (q *quorum) step(node int, in Input) {
	n := q.nodes[node]
	out, err := n.m.Step(q.now, in)
	if err != nil {
		q.t.Fatalf("node %d, %T: %v", node, in, err)
	}
	for _, a := range out.Appends {
		if node != q.active || int(a.BaseOffset) != len(q.log) || len(a.Values) > 7 {
			q.t.Fatalf("node %d of leader %d appends %d values at %d, the log ends at %d", node, q.active, len(a.Values), a.BaseOffset, len(q.log))
		}
		for i, v := range a.Values {
			q.log = append(q.log, logged{q.epoch, false, bytes.Clone(v), i == len(a.Values)-1})
		}
	}
	for _, r := range out.Responses {
		q.answered(r)
	}
	for _, e := range out.Events {
		q.seen[e.Kind.String()]++
	}
	q.checkImage(n)
}

func (q *quorum) answered(r Response) {
	req, ok := q.asked[r.ID]
	if !ok {
		q.t.Fatalf("request %d is answered twice, or was never sent", r.ID)
	}
	delete(q.asked, r.ID)
	switch resp := r.Body.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range resp.Topics {
			if t.ErrorCode == 0 && !req.(*kmsg.CreateTopicsRequest).ValidateOnly {
				q.topics[t.Topic] = true
			}
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range resp.Topics {
			if t.ErrorCode == 0 {
				delete(q.topics, *t.Topic)
			} else {
				// Whether a delete that failed with its controller took
				// place is not known.
				for _, name := range req.(*kmsg.DeleteTopicsRequest).Topics {
					delete(q.topics, *name.Topic)
				}
			}
		}
	case *kmsg.AllocateProducerIDsResponse:
		if resp.ErrorCode == 0 {
			if q.ids1000[resp.ProducerIDStart] {
				q.t.Fatalf("producer ids from %d are given twice (C10)", resp.ProducerIDStart)
			}
			q.ids1000[resp.ProducerIDStart] = true
		}
	case *kmsg.BrokerRegistrationResponse:
		id := kafka.BrokerID(req.(*kmsg.BrokerRegistrationRequest).BrokerID)
		if resp.ErrorCode == 0 && kafka.BrokerEpoch(resp.BrokerEpoch) < q.offered[id] {
			q.t.Fatalf("broker %d gets epoch %d after %d (K13)", id, resp.BrokerEpoch, q.offered[id])
		}
		if resp.ErrorCode == 0 {
			q.offered[id] = kafka.BrokerEpoch(resp.BrokerEpoch)
		}
	}
}

// checkImage judges the working image of a node against the one before it.
func (q *quorum) checkImage(n *quorumNode) {
	image := n.m.Working()
	if image == n.last {
		return
	}
	if n.last.Offset() > image.Offset() {
		q.seen["undone"]++
	}
	q.elr = q.elr || image.FeatureLevel(metadata.ELRVersionFeature) > 0
	for tp, p := range image.Partitions() {
		if err := p.Validate(); err != nil || len(p.ISR) == 0 && !q.elr {
			q.t.Fatalf("%v %v: %v (C3)", tp, p, err)
		}
		if p.Leader != kafka.NoLeader {
			if b, ok := image.Broker(p.Leader); !ok || b.Fenced && n.m.active {
				q.t.Fatalf("%v is led by %d, which is fenced (C4)", tp, p.Leader)
			} else if !b.HasOnlineDirectory(p.Directory(p.Leader)) {
				q.t.Fatalf("%v is led by %d, whose directory is offline (K16)", tp, p.Leader)
			}
		}
		if p.LeaderRecoveryState == kafka.Recovering && len(p.ISR) > 1 {
			q.t.Fatalf("%v recovers with %v (C6)", tp, p)
		}
		old, ok := n.last.Partition(tp)
		if !ok || n.last.Offset() > image.Offset() {
			continue // new, or undone
		}
		if t, _ := image.Topic(tp.Topic); !sameTopic(n.last, t) {
			continue
		}
		q.count(old, p)
		changed := !p.Equal(old)
		if changed && p.PartitionEpoch <= old.PartitionEpoch || p.LeaderEpoch < old.LeaderEpoch ||
			p.Leader != old.Leader && p.LeaderEpoch <= old.LeaderEpoch {
			q.t.Fatalf("%v goes from %v to %v (C1, C2)", tp, old, p)
		}
	}
	n.last = image
}

func (q *quorum) count(old, p *metadata.Partition) {
	for what, is := range map[string]bool{
		"leader change": p.Leader != old.Leader, "isr change": !slices.Equal(p.ISR, old.ISR),
		"partition offline": p.Leader == kafka.NoLeader && old.Leader != kafka.NoLeader,
		"partition back":    p.Leader != kafka.NoLeader && old.Leader == kafka.NoLeader,
		"eligible":          p.Eligible != nil && old.Eligible == nil,
		"directory change":  !slices.Equal(p.Directories, old.Directories),
		"reassigned":        old.Reassigning() && !p.Reassigning(),
		"recovering":        p.LeaderRecoveryState != old.LeaderRecoveryState,
	} {
		if is {
			q.seen[what]++
		}
	}
}

func sameTopic(image *metadata.Image, t *metadata.Topic) bool {
	old, ok := image.Topic(t.Name())
	return ok && old.ID() == t.ID()
}

// checkStable compares the stable images of all nodes at the same offset.
func (q *quorum) checkStable(node int) {
	n := q.nodes[node]
	digest := n.m.Image().Digest()
	if want, ok := q.digests[n.done]; ok && want != digest {
		q.t.Fatalf("node %d differs from another at offset %d (K11)", node, n.done)
	}
	q.digests[n.done] = digest
}

func (q *quorum) ask(body kmsg.Request) {
	q.ids++
	q.asked[q.ids] = body
	q.step(q.active, Request{ID: q.ids, Body: body})
}

// act does one thing at random.
func (q *quorum) act() {
	t := q.t
	m := q.nodes[q.active].m
	id := rapid.Int32Range(0, 4).Draw(t, "broker")
	broker, known := m.Working().Broker(kafka.BrokerID(id))
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "topic")
	switch rapid.SampledFrom([]string{
		"beat", "beat", "beats", "beats", "register", "time", "time", "commit", "commit", "commit", "create", "create", "create", "more", "delete",
		"alter", "alter", "alter", "alter", "reassign", "reassign", "assign", "feature", "elect", "config", "ids", "unregister", "fail",
	}).Draw(t, "act") {
	case "beat":
		want := rapid.IntRange(0, 9).Draw(t, "want")
		q.beat(id, want == 1, want == 2 || known && broker.InControlledShutdown)
	case "beats":
		for id := range int32(5) {
			q.beat(id, false, false)
		}
	case "register":
		r := registration(id, byte(rapid.IntRange(1, 3).Draw(t, "incarnation")))
		q.ask(r)
	case "time":
		q.now += time.Duration(rapid.IntRange(100, 3000).Draw(t, "ms")) * time.Millisecond
		for range 6 {
			q.step(q.active, Tick{})
		}
	case "commit":
		to := rapid.IntRange(int(q.stable)+1, len(q.log)).Draw(t, "to")
		for to > int(q.stable)+1 && !q.log[to-1].end {
			to--
		}
		if to > 0 && q.log[to-1].end {
			q.stable = max(q.stable, kafka.Offset(to)-1)
		}
		q.deliver(q.active)
		q.deliver(rapid.IntRange(0, 2).Draw(t, "standby"))
	case "create":
		r := newTopic(name, int32(rapid.IntRange(1, 7).Draw(t, "partitions")), int16(rapid.IntRange(1, 3).Draw(t, "factor")))
		r.ValidateOnly = rapid.IntRange(0, 5).Draw(t, "validate") == 0
		q.ask(r)
	case "more":
		r := kmsg.NewPtrCreatePartitionsRequest()
		r.Topics = append(r.Topics, kmsg.CreatePartitionsRequestTopic{Topic: name, Count: int32(rapid.IntRange(1, 12).Draw(t, "count"))})
		q.ask(r)
	case "delete":
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version = 6
		r.Topics = append(r.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		q.ask(r)
	case "alter":
		if r := q.alteration(m, name, broker); r != nil {
			q.ask(r)
		}
	case "reassign":
		q.ask(q.reassignment(name))
	case "assign":
		r := kmsg.NewPtrAssignReplicasToDirsRequest()
		r.BrokerID = id
		if known {
			r.BrokerEpoch = int64(broker.Epoch)
		}
		topic := kmsg.AssignReplicasToDirsRequestDirectoryTopic{Partitions: []kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{{Partition: int32(rapid.IntRange(0, 3).Draw(t, "partition"))}}}
		if found, ok := m.Working().Topic(name); ok {
			topic.TopicID = found.ID()
		}
		dir := rapid.SampledFrom([][16]byte{storyDir(id, 0), storyDir(id, 0), metadata.LostDirectory}).Draw(t, "directory")
		r.Directories = append(r.Directories, kmsg.AssignReplicasToDirsRequestDirectory{ID: dir, Topics: []kmsg.AssignReplicasToDirsRequestDirectoryTopic{topic}})
		q.ask(r)
	case "feature":
		r := kmsg.NewPtrUpdateFeaturesRequest()
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.AllowDowngrade = metadata.ELRVersionFeature, int16(rapid.IntRange(0, 2).Draw(t, "level")), rapid.Bool().Draw(t, "downgrade")
		if u.MaxVersionLevel == 2 {
			u.Feature, u.MaxVersionLevel = metadata.MetadataVersionFeature, int16(m.version())+int16(rapid.IntRange(0, 3).Draw(t, "step"))
		}
		r.FeatureUpdates = append(r.FeatureUpdates, u)
		q.ask(r)
	case "elect":
		r := kmsg.NewPtrElectLeadersRequest()
		r.ElectionType = int8(rapid.IntRange(0, 1).Draw(t, "type"))
		q.ask(r)
	case "config":
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		value := fmt.Sprint(rapid.Bool().Draw(t, "unclean"))
		c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: uncleanConfig, Value: &value}
		if rapid.Bool().Draw(t, "min ISR") {
			value, c.Name = fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "least")), minISRConfig
		}
		r.Resources = append(r.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: 2, ResourceName: name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{c},
		})
		q.ask(r)
	case "ids":
		r := kmsg.NewPtrAllocateProducerIDsRequest()
		r.BrokerID = id
		if known {
			r.BrokerEpoch = int64(broker.Epoch)
		}
		q.ask(r)
	case "unregister":
		r := kmsg.NewPtrUnregisterBrokerRequest()
		r.BrokerID = id
		q.ask(r)
	case "fail":
		q.elect(rapid.IntRange(0, 2).Draw(t, "next"))
	}
}

// reassignment moves a partition anywhere, or back.
func (q *quorum) reassignment(name string) kmsg.Request {
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition = int32(rapid.IntRange(0, 2).Draw(q.t, "partition"))
	if rapid.IntRange(0, 2).Draw(q.t, "cancel") > 0 {
		p.Replicas = rapid.SliceOfNDistinct(rapid.Int32Range(0, 4), 1, 3, rapid.ID).Draw(q.t, "target")
	}
	r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	r.Topics = append(r.Topics, kmsg.AlterPartitionAssignmentsRequestTopic{Topic: name, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}})
	return r
}

// alteration is what a leader might ask of a partition that it leads.
func (q *quorum) alteration(m *Machine, name string, broker *metadata.Broker) kmsg.Request {
	topic, ok := m.Working().Topic(name)
	if !ok || broker == nil {
		return nil
	}
	n := int32(rapid.IntRange(0, topic.Len()-1).Draw(q.t, "partition"))
	p, _ := topic.Partition(n)
	r := kmsg.NewPtrAlterPartitionRequest()
	r.Version, r.BrokerID, r.BrokerEpoch = 2, int32(broker.ID), int64(broker.Epoch)
	want := kmsg.NewAlterPartitionRequestTopicPartition()
	want.Partition, want.LeaderEpoch, want.PartitionEpoch = n, int32(p.LeaderEpoch), int32(p.PartitionEpoch)
	for _, id := range p.Replicas {
		if id == broker.ID || rapid.IntRange(0, 3).Draw(q.t, "in sync") > 0 {
			want.NewISR = append(want.NewISR, int32(id))
		}
	}
	want.LeaderRecoveryState = int8(rapid.IntRange(0, 1).Draw(q.t, "recovery"))
	r.Topics = append(r.Topics, kmsg.AlterPartitionRequestTopic{TopicID: topic.ID(), Partitions: []kmsg.AlterPartitionRequestTopicPartition{want}})
	return r
}

// TestFailover runs three machines over one log with random requests, time,
// commits and failovers, and judges every image. At the end all that was
// answered is there.
func TestFailover(t *testing.T) {
	var kept, failovers int
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		q := newQuorum(t, rapid.SampledFrom([]metadata.MetadataVersion{metadata.V3_3_IV3, metadata.V3_6_IV0, metadata.V4_0_IV3, metadata.V4_4_IV2}).Draw(t, "level"))
		for range 150 {
			q.act()
		}
		q.commitAll()
		if len(q.asked) != 0 || q.nodes[q.active].m.Parked() != 0 {
			t.Fatalf("%d requests are not answered", len(q.asked))
		}
		for name := range q.topics {
			if _, ok := q.nodes[0].m.Image().Topic(name); !ok {
				t.Fatalf("topic %s was answered and is gone (K15)", name)
			}
		}
		q.checkSnapshot()
		kept += len(q.topics)
		failovers += int(q.epoch) - 1
		for what, n := range q.seen {
			seen[what] += n
		}
	})
	t.Logf("%d topics were kept over %d failovers; %v", kept, failovers, seen)
	for _, what := range []string{
		"leader change", "isr change", "partition offline", "partition back", "undone",
		BrokerRegistered.String(), BrokerUnfenced.String(), BrokerFenced.String(), ShutdownBegun.String(), ShutdownGranted.String(), Activated.String(),
	} {
		if seen[what] == 0 {
			t.Errorf("no %s was ever seen", what)
		}
	}
	for _, what := range []string{"recovering", "reassigned", "eligible", "directory change"} { // seldom
		if seen[what] == 0 && !testing.Short() {
			t.Errorf("no %s was ever seen", what)
		}
	}
	if kept == 0 || failovers == 0 {
		t.Error("nothing happened")
	}
}

// checkSnapshot loads the image into a new machine and goes on from there.
func (q *quorum) checkSnapshot() {
	image := q.nodes[0].m.Image()
	m, err := New(Config{ClusterID: testCluster, Rand: rand.New(rand.NewPCG(9, 9))})
	if err != nil {
		q.t.Fatal(err)
	}
	version := metadata.MetadataVersion(image.FeatureLevel(metadata.MetadataVersionFeature))
	values := func(yield func([]byte, error) bool) {
		for r := range image.Records() {
			v, err := metadata.AppendRecord(nil, r, version.RecordVersion(r))
			if !yield(v, err) {
				return
			}
		}
	}
	if _, err := m.Step(q.now, Snapshot{EndOffset: q.stable + 1, Epoch: q.epoch, Values: values}); err != nil {
		q.t.Fatal(err)
	}
	if m.Image().Digest() != image.Digest() {
		q.t.Fatal("the snapshot's image is another (K9)")
	}
	out, err := m.Step(q.now, Claim{Epoch: q.epoch + 1, NextOffset: q.stable + 2})
	if err != nil || len(out.Appends) != 0 {
		q.t.Fatalf("claim after a snapshot: %d appends, %v", len(out.Appends), err)
	}
}

// TestSameSeedSameLog: the log depends on the inputs and the seed alone.
func TestSameSeedSameLog(t *testing.T) {
	var logs [2][][]byte
	for i := range logs {
		w := newWorld(Config{})
		w.up(t, 9)
		for n := range 5 {
			ask[*kmsg.CreateTopicsResponse](t, w, newTopic(fmt.Sprintf("t%d", n), 40, 3))
		}
		w.now += time.Hour
		for range 20 {
			w.step(Tick{})
		}
		for _, l := range w.log {
			logs[i] = append(logs[i], l.value)
		}
	}
	if !slices.EqualFunc(logs[0], logs[1], bytes.Equal) {
		t.Error("two runs made two logs")
	}
}

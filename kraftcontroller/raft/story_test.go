package raft

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"kbench/kafka"
)

// TestStories runs the stories of one machine, whose peers the story itself
// plays, and compares all it does with the golden trace. Each file says in its
// comments which behaviour of Kafka it shows. Rewrite with -rewrite and read the
// difference.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/machine", func(t *testing.T, path string) {
		s := &story{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t, s.d = t, d
			return s.command()
		})
	})
}

// story is one machine at a virtual time. Requests that the story hands in get
// the ids 1, 2, 3...; answers name the peer they come from.
type story struct {
	t        *testing.T
	d        *datadriven.TestData
	m        *Machine
	now      time.Duration
	deadline time.Duration
	requests uint64
	sent     map[kafka.BrokerID]uint64 // the last request to each peer
	flush    uint64
	out      strings.Builder
	// dropped are requests that the machine never gets, as if it had no handler
	// for them; nil for none.
	dropped func(Message) bool
}

func (s *story) command() string {
	s.out.Reset()
	switch s.d.Cmd {
	case "new":
		return s.start()
	case "asleep": // time passes, but the machine does not run
		s.now = s.duration("to", 0)
	case "tick":
		s.tick()
	case "request":
		s.requests++
		fmt.Fprintf(&s.out, "request %d\n", s.requests)
		s.step(Request{s.requests, s.request()})
	case "cancel":
		s.step(Cancel{uint64(s.int("id", 0))})
	case "answer":
		from := kafka.BrokerID(s.int("from", 0))
		s.step(Response{s.sent[from], s.answer()})
	case "fail":
		s.step(RequestFailed{s.sent[kafka.BrokerID(s.int("from", 0))]})
	case "append":
		s.step(Append{Token: 1, Epoch: kafka.LeaderEpoch(s.int("epoch", int(s.m.epoch))), Count: int32(s.int("count", 1)), Records: "records"})
	case "flushed":
		s.step(FlushDone{uint64(s.int("seq", int(s.flush)))})
	case "resign":
		s.step(Resign{kafka.LeaderEpoch(s.int("epoch", int(s.m.epoch)))})
	case "shutdown":
		s.step(Shutdown{s.duration("timeout", time.Second)})
	case "snapshot-taken":
		s.step(SnapshotTaken{s.id("id")})
	case "log-start":
		s.step(LogStartMoved{kafka.Offset(s.int("offset", 0))})
	case "installed":
		s.step(SnapshotInstalled{s.id("id"), Quorum{KRaftVersion: int16(s.int("kraft", 0)), Voters: s.voters("quorum")}})
	case "quorum":
		fmt.Fprintf(&s.out, "kraft.version=%d voters=[%s]\n", s.m.Quorum().KRaftVersion, formatVoters(s.m.Quorum().Voters))
	case "state":
		fmt.Fprintf(&s.out, "%s log=[%d,%d) hw=%d now=%v deadline=%v\n", formatRole(s.m.Role()), s.m.LogStart(), s.m.LogEnd(), s.m.HighWatermark(), s.now, s.until())
	default:
		s.t.Fatalf("%s: unknown command %q", s.d.Pos, s.d.Cmd)
	}
	if s.out.Len() == 0 {
		return "nothing\n"
	}
	return s.out.String()
}

// start makes a machine of Kafka's test timers.
func (s *story) start() string {
	cfg := Config{
		NodeID: kafka.BrokerID(s.int("id", 1)), ClusterID: "c1",
		ElectionTimeout: 10 * time.Second, FetchTimeout: 50 * time.Second, RequestTimeout: 5 * time.Second,
		RetryBackoff: 50 * time.Millisecond, ElectionBackoffMax: 100 * time.Millisecond,
		DisablePreVote: s.d.HasArg("no-pre-vote"), DisableHWPush: !s.d.HasArg("hw-push"), NoFlush: s.d.HasArg("no-flush"),
		Seed: [2]uint64{1, 2}, MaxParked: s.int("max-parked", 0),
	}
	for _, v := range s.list("voters") {
		cfg.Voters = append(cfg.Voters, Voter{ReplicaKey: ReplicaKey{ID: kafka.BrokerID(v)}})
	}
	cfg.FetchTimeout = s.duration("fetch-timeout", cfg.FetchTimeout)
	cfg.DirectoryID = kafka.UUID{byte(s.int("dir", 0))}
	cfg.AutoJoin = s.d.HasArg("auto-join")
	cfg.Endpoints = endpoints(s.int("port", storyPort))
	for _, v := range s.list("bootstrap") {
		cfg.Bootstrap = append(cfg.Bootstrap, kafka.BrokerID(v))
	}
	p := Persisted{QuorumState: QuorumState{
		LeaderID: kafka.BrokerID(s.int("leader", -1)), LeaderEpoch: kafka.LeaderEpoch(s.int("epoch", 0)),
		VotedKey: ReplicaKey{ID: kafka.BrokerID(s.int("voted", -1))},
	}}
	p.LogStart, p.StartEpoch = kafka.Offset(s.int("start", 0)), kafka.LeaderEpoch(s.int("start-epoch", 0))
	p.Snapshot = s.id("snapshot")
	if s.d.HasArg("kraft") { // what formatting wrote, or the snapshot
		p.Quorum = Quorum{KRaftVersion: int16(s.int("kraft", 0)), Voters: s.voters("quorum")}
	}
	if s.d.HasArg("log-quorum") {
		p.Changes = []QuorumChange{{Offset: 1, KRaftVersion: 1}, {Offset: 2, KRaftVersion: Unchanged, Voters: s.voters("log-quorum")}}
	}
	p.LogEnd = p.LogStart
	for _, e := range s.list("log") { // one epoch per record
		if n := len(p.Epochs); n == 0 || p.Epochs[n-1].Epoch != kafka.LeaderEpoch(e) {
			p.Epochs = append(p.Epochs, EpochStart{kafka.LeaderEpoch(e), p.LogEnd})
		}
		p.LogEnd++
	}
	m, err := New(cfg, p)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	s.m, s.now, s.requests, s.sent, s.flush = m, 0, 0, map[kafka.BrokerID]uint64{}, 0
	s.step(Tick{})
	return s.out.String()
}

func (s *story) tick() {
	switch {
	case s.d.HasArg("by"):
		s.now += s.duration("by", 0)
	case s.d.HasArg("to"):
		s.now = s.duration("to", 0)
	default:
		s.now = max(s.now, s.deadline)
		fmt.Fprintf(&s.out, "at %v\n", s.now)
	}
	s.step(Tick{})
}

func (s *story) step(in Input) {
	if r, ok := in.(Request); ok && s.dropped != nil && s.dropped(r.Message) {
		return
	}
	var fx Effects
	fx, s.deadline = s.m.Step(s.now, in)
	for _, m := range fx.Send {
		s.sent[m.To] = m.ID
	}
	if fx.Flush != nil {
		s.flush = fx.Flush.Seq
	}
	for _, p := range s.m.passed {
		fmt.Fprintf(&s.out, "  %s\n", p)
	}
	formatEffects(&s.out, fx)
}

func (s *story) until() string {
	if s.deadline == Never {
		return "never"
	}
	return s.deadline.String()
}

func (s *story) request() Message {
	epoch := kafka.LeaderEpoch(s.int("epoch", 0))
	leader := kafka.BrokerID(s.int("leader", 0))
	voter := ReplicaKey{ID: kafka.BrokerID(s.int("voter", -1))}
	switch kind := s.d.CmdArgs[0].Key; kind {
	case "vote", "pre-vote":
		offset, last := s.pair("log")
		return VoteRequest{
			ClusterID: s.cluster(), Voter: voter, Epoch: epoch, Candidate: ReplicaKey{ID: kafka.BrokerID(s.int("candidate", 0))},
			LastEpoch: kafka.LeaderEpoch(last), LastOffset: kafka.Offset(offset), PreVote: kind == "pre-vote",
		}
	case "begin":
		return BeginQuorumEpochRequest{ClusterID: s.cluster(), Voter: voter, LeaderID: leader, LeaderEpoch: epoch}
	case "end":
		r := EndQuorumEpochRequest{ClusterID: s.cluster(), LeaderID: leader, LeaderEpoch: epoch}
		for _, id := range s.list("successors") {
			r.PreferredSuccessors = append(r.PreferredSuccessors, ReplicaKey{ID: kafka.BrokerID(id)})
		}
		return r
	case "fetch":
		return FetchRequest{
			ClusterID: s.cluster(), Replica: ReplicaKey{kafka.BrokerID(s.int("replica", -1)), kafka.UUID{byte(s.int("dir", 0))}}, CurrentLeaderEpoch: epoch,
			FetchOffset: kafka.Offset(s.int("offset", 0)), LastFetchedEpoch: kafka.LeaderEpoch(s.int("last", 0)),
			MaxWait: s.duration("wait", 500*time.Millisecond), MaxBytes: 1000, HighWatermark: kafka.Offset(s.int("hw", int(HighWatermarkUnsupported))),
		}
	case "fetch-snapshot":
		return FetchSnapshotRequest{
			ClusterID: s.cluster(), Replica: ReplicaKey{ID: kafka.BrokerID(s.int("replica", -1))}, CurrentLeaderEpoch: epoch,
			Snapshot: s.id("snapshot"), Position: int64(s.int("position", 0)), MaxBytes: int32(s.int("max", 1000)),
		}
	case "describe":
		return DescribeQuorumRequest{}
	case "add-voter":
		v := s.voter()
		if s.d.HasArg("no-listener") {
			v.Endpoints = nil
		}
		return AddVoterRequest{ClusterID: s.cluster(), Voter: v, AckWhenCommitted: !s.d.HasArg("ack-early")}
	case "remove-voter":
		return RemoveVoterRequest{ClusterID: s.cluster(), Voter: s.voter().ReplicaKey}
	case "update-voter":
		return UpdateVoterRequest{ClusterID: s.cluster(), CurrentLeaderEpoch: epoch, Voter: s.voter()}
	case "upgrade":
		return UpgradeRequest{Epoch: epoch, KRaftVersion: int16(s.int("version", 1)), ValidateOnly: s.d.HasArg("validate")}
	default:
		s.t.Fatalf("%s: unknown request %q", s.d.Pos, kind)
		return nil
	}
}

func (s *story) answer() Message {
	code := kafka.ErrorCode(s.int("error", 0))
	top := kafka.ErrorCode(s.int("top-error", 0))
	leader := kafka.BrokerID(s.int("leader", -1))
	epoch := kafka.LeaderEpoch(s.int("epoch", int(s.m.epoch)))
	switch kind := s.d.CmdArgs[0].Key; kind {
	case "vote":
		return VoteResponse{top, code, leader, epoch, s.d.HasArg("granted")}
	case "begin":
		return BeginQuorumEpochResponse{top, code, leader, epoch}
	case "end":
		return EndQuorumEpochResponse{top, code, leader, epoch}
	case "fetch":
		r := FetchResponse{Error: top, PartitionError: code, LeaderID: leader, LeaderEpoch: epoch, HighWatermark: kafka.Offset(s.int("hw", -1))}
		if s.d.HasArg("diverging") {
			end, e := s.pair("diverging")
			r.Diverging = &EpochEndOffset{kafka.LeaderEpoch(e), kafka.Offset(end)}
		}
		if s.d.HasArg("snapshot") {
			id := s.id("snapshot")
			r.Snapshot = &id
		}
		base := kafka.Offset(s.int("base", int(s.m.LogEnd())))
		for _, e := range s.list("records") { // one batch of one record each
			r.Batches = append(r.Batches, Batch{BaseOffset: base, LastOffset: base, Epoch: kafka.LeaderEpoch(e)})
			base++
		}
		if s.d.HasArg("voters") { // the last record is a voter set
			r.Batches[len(r.Batches)-1].Changes = []QuorumChange{{Offset: base - 1, KRaftVersion: 1, Voters: s.voters("voters")}}
		}
		r.Records = "fetched"
		return r
	case "fetch-snapshot":
		return FetchSnapshotResponse{
			Error: top, PartitionError: code, LeaderID: leader, LeaderEpoch: epoch, Snapshot: s.id("snapshot"),
			Position: int64(s.int("position", 0)), Size: int64(s.int("size", 0)), Data: make([]byte, s.int("bytes", 0)),
		}
	case "api-versions":
		return APIVersionsResponse{code, VersionRange{0, int16(s.int("max", 1))}}
	case "add-voter":
		return AddVoterResponse{Error: code}
	case "remove-voter":
		return RemoveVoterResponse{Error: code}
	case "update-voter":
		return UpdateVoterResponse{code, leader, epoch}
	default:
		s.t.Fatalf("%s: unknown answer %q", s.d.Pos, kind)
		return nil
	}
}

// storyPort is where every controller of a story listens, on a host of its own.
const storyPort = 9093

func endpoints(port int) []kafka.Endpoint {
	return []kafka.Endpoint{{Listener: DefaultListener, Host: "h", Port: uint16(port)}}
}

// voter is the one of a request: its id, the first byte of its directory, which
// is the id where it is not given, and where it listens.
func (s *story) voter() Voter {
	id := s.int("voter", -1)
	return Voter{
		ReplicaKey: ReplicaKey{kafka.BrokerID(id), kafka.UUID{byte(s.int("dir", max(id, 0)))}},
		Endpoints:  endpoints(s.int("port", storyPort)), KRaftVersions: VersionRange{int16(s.int("min", 0)), int16(s.int("max", 1))},
	}
}

// voters is a set of voters whose directories are their ids.
func (s *story) voters(key string) []Voter {
	var out []Voter
	for _, id := range s.list(key) {
		out = append(out, Voter{
			ReplicaKey: ReplicaKey{kafka.BrokerID(id), kafka.UUID{byte(id)}}, Endpoints: endpoints(storyPort), KRaftVersions: SupportedKRaft,
		})
	}
	return out
}

// arg gives the values of an argument, nil if it is not there.
func (s *story) arg(key string) []string {
	for _, a := range s.d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func (s *story) int(key string, def int) int {
	v := s.arg(key)
	if len(v) == 0 {
		return def
	}
	n, err := strconv.Atoi(v[0])
	if err != nil {
		s.t.Fatalf("%s: %s: %v", s.d.Pos, key, err)
	}
	return n
}

func (s *story) list(key string) []int {
	var out []int
	for _, v := range s.arg(key) {
		n, err := strconv.Atoi(v)
		if err != nil {
			s.t.Fatalf("%s: %s: %v", s.d.Pos, key, err)
		}
		out = append(out, n)
	}
	return out
}

func (s *story) duration(key string, def time.Duration) time.Duration {
	v := s.arg(key)
	if len(v) == 0 {
		return def
	}
	d, err := time.ParseDuration(v[0])
	if err != nil {
		s.t.Fatalf("%s: %s: %v", s.d.Pos, key, err)
	}
	return d
}

// pair reads offset/epoch.
func (s *story) pair(key string) (offset, epoch int) {
	if v := s.arg(key); len(v) > 0 {
		if _, err := fmt.Sscanf(v[0], "%d/%d", &offset, &epoch); err != nil {
			s.t.Fatalf("%s: %s: %v", s.d.Pos, key, err)
		}
	}
	return offset, epoch
}

// id reads offset-epoch.
func (s *story) id(key string) SnapshotID {
	var id SnapshotID
	if v := s.arg(key); len(v) > 0 {
		if _, err := fmt.Sscanf(v[0], "%d-%d", &id.EndOffset, &id.Epoch); err != nil {
			s.t.Fatalf("%s: %s: %v", s.d.Pos, key, err)
		}
	}
	return id
}

func (s *story) cluster() *string {
	if v := s.arg("cluster"); len(v) > 0 {
		if v[0] == "empty" {
			v[0] = ""
		}
		return &v[0]
	}
	return nil
}

// TestQuorumStories runs stories of a whole quorum: the nodes' messages go over
// a network that the story steers.
func TestQuorumStories(t *testing.T) {
	datadriven.Walk(t, "testdata/quorum", func(t *testing.T, path string) {
		q := &quorum{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			q.story.t, q.story.d = t, d
			return q.command()
		})
	})
}

// quorum is several machines with logs in memory. Fsyncs are done at once.
type quorum struct {
	story // for its arguments only
	nodes map[kafka.BrokerID]*member
	queue []parcel
	cut   map[kafka.BrokerID]bool
}

type member struct {
	m        *Machine
	cfg      Config
	p        Persisted
	log      []Batch
	deadline time.Duration
	inbound  map[uint64]parcel
	lastReq  uint64
}

// parcel is a message on its way: an answer if id belongs to a request of to.
type parcel struct {
	from, to kafka.BrokerID
	id       uint64
	answer   bool
	msg      Message
}

func (q *quorum) command() string {
	q.out.Reset()
	id := kafka.BrokerID(q.int("node", 0))
	switch q.d.Cmd {
	case "quorum":
		q.make()
	case "elect": // time passes for this node until it campaigns
		n := q.nodes[id]
		q.now = max(q.now, n.deadline)
		q.step(id, Tick{})
	case "advance": // time passes for all, deadline by deadline
		q.advance(q.duration("by", 0))
	case "stabilize":
		q.stabilize()
	case "append":
		q.step(id, Append{Token: 1, Epoch: q.nodes[id].m.epoch, Count: int32(q.int("count", 1))})
	case "resign":
		q.step(id, Resign{q.nodes[id].m.epoch})
	case "cut": // nodes that no message reaches or leaves
		q.cut = map[kafka.BrokerID]bool{}
		for _, x := range q.list("nodes") {
			q.cut[kafka.BrokerID(x)] = true
		}
	case "restart":
		q.restart(id)
	case "snapshot": // takes one of all that is committed and deletes the log before it
		q.snapshot(id)
	case "logs":
		q.logs()
	default:
		q.t.Fatalf("%s: unknown command %q", q.d.Pos, q.d.Cmd)
	}
	if q.out.Len() == 0 {
		return "nothing\n"
	}
	return q.out.String()
}

func (q *quorum) make() {
	q.nodes, q.queue, q.cut, q.now = map[kafka.BrokerID]*member{}, nil, nil, 0
	var voters []Voter
	for _, v := range q.list("voters") {
		voters = append(voters, Voter{ReplicaKey: ReplicaKey{ID: kafka.BrokerID(v)}})
	}
	for _, id := range append(q.list("voters"), q.list("observers")...) {
		n := &member{inbound: map[uint64]parcel{}, p: Persisted{QuorumState: EmptyQuorumState()}}
		n.cfg = Config{
			NodeID: kafka.BrokerID(id), Voters: voters, Seed: [2]uint64{uint64(id), 7},
			DisablePreVote: q.d.HasArg("no-pre-vote"), DisableHWPush: !q.d.HasArg("hw-push"),
			RetryBackoff: 400 * time.Millisecond, // so that the traces of dead peers stay short
		}
		q.nodes[n.cfg.NodeID] = n
	}
	for _, id := range q.ids() {
		q.restart(id)
	}
}

func (q *quorum) ids() []kafka.BrokerID {
	var ids []kafka.BrokerID
	for id := range q.nodes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (q *quorum) restart(id kafka.BrokerID) {
	n := q.nodes[id]
	n.p.LogEnd, n.p.Epochs = n.p.LogStart, nil
	for _, b := range n.log {
		if k := len(n.p.Epochs); k == 0 || n.p.Epochs[k-1].Epoch != b.Epoch {
			n.p.Epochs = append(n.p.Epochs, EpochStart{b.Epoch, b.BaseOffset})
		}
		n.p.LogEnd = b.LastOffset + 1
	}
	m, err := New(n.cfg, n.p)
	if err != nil {
		q.t.Fatalf("%s: node %d: %v", q.d.Pos, id, err)
	}
	n.m = m
	q.step(id, Tick{})
}

// step steps a node, tells what it does, and carries it out.
func (q *quorum) step(id kafka.BrokerID, in Input) {
	n := q.nodes[id]
	var fx Effects
	fx, n.deadline = n.m.Step(q.now, in)
	var b strings.Builder
	formatEffects(&b, fx)
	if b.Len() > 0 {
		fmt.Fprintf(&q.out, "node %d at %v:\n%s", id, q.now, b.String())
	}
	var next []Input
	if fx.Persist != nil {
		n.p.QuorumState = *fx.Persist
	}
	for _, op := range fx.Log {
		switch op := op.(type) {
		case LogTruncate:
			n.log = slices.DeleteFunc(n.log, func(b Batch) bool { return b.BaseOffset >= op.To })
		case LogAppend:
			n.log = append(n.log, op.Batches...)
		}
	}
	if s := fx.Snapshot; s != nil && s.Done {
		n.log, n.p.LogStart, n.p.StartEpoch, n.p.Snapshot = nil, s.ID.EndOffset, s.ID.Epoch, s.ID
		next = append(next, SnapshotInstalled{ID: s.ID})
	}
	if fx.Flush != nil {
		next = append(next, FlushDone{fx.Flush.Seq})
	}
	for _, s := range fx.Send {
		q.queue = append(q.queue, parcel{from: id, to: s.To, id: s.ID, msg: s.Message})
	}
	for _, r := range fx.Reply {
		to := n.inbound[r.ID]
		q.queue = append(q.queue, parcel{from: id, to: to.from, id: to.id, answer: true, msg: n.fill(r.Message)})
	}
	for _, in := range next {
		q.step(id, in)
	}
}

// fill reads what an answer asks for.
func (n *member) fill(m Message) Message {
	switch m := m.(type) {
	case FetchResponse:
		if m.Read != nil {
			for _, b := range n.log {
				if b.LastOffset >= m.Read.From {
					m.Batches = append(m.Batches, b)
				}
			}
			m.Read = nil
		}
		return m
	case FetchSnapshotResponse:
		if m.ReadChunk {
			m.Size, m.Data = 5, make([]byte, min(3, 5-m.Position))
		}
		return m
	}
	return m
}

// stabilize delivers messages, oldest first, until none is left; at most 1,000.
func (q *quorum) stabilize() {
	for range 1000 {
		if len(q.queue) == 0 {
			return
		}
		p := q.queue[0]
		q.queue = q.queue[1:]
		if q.cut[p.from] || q.cut[p.to] {
			fmt.Fprintf(&q.out, "lost %d->%d %s\n", p.from, p.to, formatMessage(p.msg))
			if !p.answer {
				q.step(p.from, RequestFailed{p.id})
			}
			continue
		}
		fmt.Fprintf(&q.out, "%d->%d %s\n", p.from, p.to, formatMessage(p.msg))
		if p.answer {
			q.step(p.to, Response{p.id, p.msg})
			continue
		}
		n := q.nodes[p.to]
		n.lastReq++
		n.inbound[n.lastReq] = p
		q.step(p.to, Request{n.lastReq, p.msg})
	}
	q.t.Fatalf("%s: 1,000 messages and no end", q.d.Pos)
}

func (q *quorum) advance(by time.Duration) {
	end := q.now + by
	for range 10_000 {
		ids := q.ids()
		first := slices.MinFunc(ids, func(a, b kafka.BrokerID) int { return cmp.Compare(q.nodes[a].deadline, q.nodes[b].deadline) })
		if q.nodes[first].deadline > end {
			q.now = end
			return
		}
		q.now = max(q.now, q.nodes[first].deadline)
		q.step(first, Tick{})
		q.stabilize()
	}
	q.t.Fatalf("%s: 10,000 deadlines in %v", q.d.Pos, by)
}

func (q *quorum) snapshot(id kafka.BrokerID) {
	n := q.nodes[id]
	to := n.m.HighWatermark()
	n.p.Snapshot = SnapshotID{to, n.m.log.epochBefore(to)}
	n.p.LogStart, n.p.StartEpoch = to, n.p.Snapshot.Epoch
	n.log = slices.DeleteFunc(n.log, func(b Batch) bool { return b.LastOffset < to })
	q.step(id, SnapshotTaken{n.p.Snapshot})
	q.step(id, LogStartMoved{to})
	fmt.Fprintf(&q.out, "node %d has snapshot %s\n", id, formatID(n.p.Snapshot))
}

func (q *quorum) logs() {
	for _, id := range q.ids() {
		n := q.nodes[id]
		fmt.Fprintf(&q.out, "%d: %s log=[%d,%d) hw=%d%s\n", id, formatRole(n.m.Role()), n.m.LogStart(), n.m.LogEnd(), n.m.HighWatermark(), formatBatches(n.log))
	}
}

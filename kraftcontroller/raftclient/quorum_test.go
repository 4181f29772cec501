package raftclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute // for whatever must come, on a busy machine

// calm gives timers that no pause of the machine uses up, for tests in which
// nobody has to notice by them that the leader is gone.
func calm(c *Config) { c.FetchTimeout, c.RequestTimeout = 15*time.Second, 5*time.Second }

// await polls until ok.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// recorder is a Listener that keeps the values of data records.
type recorder struct {
	mu     sync.Mutex
	next   kafka.Offset
	values []string
	loads  int
	leader LeaderAndEpoch
	led    []kafka.LeaderEpoch // epochs in which it was told that it leads
	self   kafka.BrokerID
	last   metalog.SnapshotID // end of the last batch
	stamp  int64
}

func (r *recorder) HandleCommit(batches []metalog.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range batches {
		if b.BaseOffset != r.next {
			return fmt.Errorf("batch at %d where %d is next", b.BaseOffset, r.next)
		}
		r.next = b.EndOffset()
		r.last, r.stamp = metalog.SnapshotID{EndOffset: r.next, Epoch: b.Epoch}, b.Timestamp
		for _, rec := range b.Records {
			if !b.Control {
				r.values = append(r.values, string(rec.Value))
			}
		}
	}
	return nil
}

func (r *recorder) HandleLoadSnapshot(s *metalog.SnapshotReader) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values, r.next = nil, s.ID().EndOffset
	r.loads++
	for {
		b, err := s.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for _, rec := range b.Records {
			r.values = append(r.values, string(rec.Value))
		}
	}
}

func (r *recorder) HandleLeaderChange(l LeaderAndEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leader = l
	if l.Leader == r.self {
		r.led = append(r.led, l.Epoch)
	}
}

func (r *recorder) snapshot() (values []string, leader LeaderAndEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.values...), r.leader
}

// end is where a snapshot of what was heard ends, and its timestamp.
func (r *recorder) end() (id metalog.SnapshotID, stamp int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.stamp
}

// node is one member of a test quorum.
type node struct {
	t       testing.TB
	cfg     Config
	client  *Client
	rec     *recorder
	server  *wire.Server
	cancel  context.CancelFunc
	done    chan error
	stopped bool
}

type quorum struct {
	t      testing.TB
	dir    string
	voters []Voter
	tune   func(*Config)
	nodes  map[kafka.BrokerID]*node

	machine func(Machine) Machine // what each node gets in place of its own; nil for that
}

func testLogger() *slog.Logger {
	if os.Getenv("KBENCH_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

func newQuorum(t testing.TB, n int, tune func(*Config)) *quorum {
	q := &quorum{t: t, dir: t.TempDir(), tune: tune, nodes: map[kafka.BrokerID]*node{}}
	for range n {
		q.addAddress()
	}
	t.Cleanup(func() {
		for _, n := range q.nodes {
			n.kill()
		}
	})
	for _, v := range q.voters {
		q.start(v.ID)
	}
	return q
}

// start starts a voter, or an observer where id is none of theirs.
func (q *quorum) start(id kafka.BrokerID) *node {
	q.t.Helper()
	rec := &recorder{self: id}
	cfg := Config{
		NodeID: id, ClusterID: "test", Voters: q.voters, Listener: rec,
		Dir:             filepath.Join(q.dir, fmt.Sprint(id)),
		ElectionTimeout: 300 * time.Millisecond, FetchTimeout: time.Second, ElectionBackoffMax: 300 * time.Millisecond,
		RequestTimeout: time.Second, Logger: testLogger().With("node", id),
	}
	if q.tune != nil {
		q.tune(&cfg)
	}
	n := &node{t: q.t, cfg: cfg, rec: rec, done: make(chan error, 1)}
	var err error
	if n.client, err = New(cfg); err != nil {
		q.t.Fatal(err)
	}
	if q.machine != nil {
		n.client.machine = q.machine(n.client.machine)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	for _, v := range q.voters {
		if v.ID == id {
			n.serve(v)
		}
	}
	go func() { n.done <- n.client.Run(ctx) }()
	q.nodes[id] = n
	return n
}

// supportsDynamicVoters is what a controller says of kraft.version.
func supportsDynamicVoters(resp *kmsg.ApiVersionsResponse) {
	f := kmsg.NewApiVersionsResponseSupportedFeature()
	f.Name, f.MaxVersion = kraftVersionFeature, raft.SupportedKRaft.Max
	resp.SupportedFeatures = append(resp.SupportedFeatures, f)
}

func (n *node) serve(v Voter) {
	n.t.Helper()
	var err error
	if n.server, err = wire.NewServer(wire.ServerConfig{APIs: n.client.APIs(), Features: supportsDynamicVoters, Listener: ControllerListener, Logger: n.cfg.Logger}); err != nil {
		n.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", v.Addr())
	if err != nil {
		n.t.Fatal(err)
	}
	go n.server.Serve(ln)
}

// kill ends a node as a crash does: no resignation, no last fsync.
func (n *node) kill() {
	if n.stopped {
		return
	}
	n.stopped = true
	n.cancel()
	if err := <-n.done; err != nil {
		n.t.Errorf("node %d: %v", n.cfg.NodeID, err)
	}
	n.closeServer()
}

func (n *node) closeServer() {
	if n.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.server.Close(ctx); err != nil {
		n.t.Errorf("node %d: %v", n.cfg.NodeID, err)
	}
}

// leader waits until one live node was told that it leads and all live ones
// agree.
func (q *quorum) leader() (*node, LeaderAndEpoch) {
	q.t.Helper()
	var lead *node
	var at LeaderAndEpoch
	await(q.t, "a leader that all agree on", func() bool {
		lead = nil
		first := true
		for _, n := range q.nodes {
			if n.stopped {
				continue
			}
			_, l := n.rec.snapshot()
			if first {
				at, first = l, false
			}
			if l != at || l.Leader < 0 {
				return false
			}
			if l.Leader == n.cfg.NodeID {
				lead = n
			}
		}
		return lead != nil
	})
	return lead, at
}

// write appends one value and waits until it is committed at the leader.
func (n *node) write(epoch kafka.LeaderEpoch, value string) error {
	offset, err := n.client.Append(epoch, [][]byte{[]byte(value)})
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for n.client.HighWatermark() <= offset {
		select {
		case <-n.client.stopped:
			return ErrClosed
		default:
		}
		if n.client.Leader().Epoch != epoch || time.Now().After(deadline) {
			return errors.New("not committed")
		}
		time.Sleep(100 * time.Microsecond)
	}
	return nil
}

// acknowledge writes a value, through as many leaders as it takes, each time by
// another name, and gives the name that was acknowledged.
func (q *quorum) acknowledge(value string) (name string) {
	q.t.Helper()
	try := 0
	await(q.t, "a write of "+value, func() bool {
		n, at := q.leader()
		try++
		name = fmt.Sprintf("%s (%d)", value, try)
		return n.write(at.Epoch, name) == nil
	})
	return name
}

// awaitAll waits until every live node holds what was acknowledged, in order and
// once. What was not may be there too.
func (q *quorum) awaitAll(want []string) {
	q.t.Helper()
	acknowledged := map[string]bool{}
	for _, v := range want {
		acknowledged[v] = true
	}
	for _, n := range q.nodes {
		if n.stopped {
			continue
		}
		await(q.t, fmt.Sprintf("node %d to hold %d values", n.cfg.NodeID, len(want)), func() bool {
			got, _ := n.rec.snapshot()
			i := 0
			for _, v := range got {
				switch {
				case i < len(want) && v == want[i]:
					i++
				case acknowledged[v]:
					q.t.Fatalf("node %d holds %q after %d acknowledged values", n.cfg.NodeID, v, i)
				}
			}
			return i == len(want)
		})
	}
}

func TestQuorumElectsAndReplicates(t *testing.T) {
	q := newQuorum(t, 3, calm)
	q.start(100) // an observer
	lead, at := q.leader()
	var want []string
	for i := range 50 {
		v := fmt.Sprintf("v%d", i)
		if err := lead.write(at.Epoch, v); err != nil {
			t.Fatal(err)
		}
		want = append(want, v)
	}
	q.awaitAll(want)
	for _, n := range q.nodes {
		if n != lead {
			if _, err := n.client.Append(at.Epoch, [][]byte{[]byte("x")}); !errors.Is(err, kafka.NotLeaderOrFollower) {
				t.Errorf("node %d appended: %v", n.cfg.NodeID, err)
			}
		}
	}
}

func TestNothingAcknowledgedIsLost(t *testing.T) {
	q := newQuorum(t, 3, nil)
	var want []string
	for round := range 4 {
		for i := range 20 {
			want = append(want, q.acknowledge(fmt.Sprintf("r%d-%d", round, i)))
		}
		lead, at := q.leader()
		id := lead.cfg.NodeID
		lead.kill()
		next, nextAt := q.leader()
		if next.cfg.NodeID == id || nextAt.Epoch <= at.Epoch {
			t.Fatalf("leader %+v after %+v", nextAt, at)
		}
		want = append(want, q.acknowledge(fmt.Sprintf("r%d-after", round)))
		q.start(id)
		q.awaitAll(want)
	}
}

// A leader that shuts down hands over, so that nobody waits for a fetch timeout. It
// gives up after five seconds, which a busy machine may use up: of three times one
// must be quick.
func TestShutdownHandsOver(t *testing.T) {
	const fetchTimeout = 20 * time.Second
	for range 3 {
		took := handOver(t, fetchTimeout)
		if took < fetchTimeout/2 {
			return
		}
		t.Logf("it took %v", took)
	}
	t.Errorf("three successors have waited for a fetch timeout of %v", fetchTimeout)
}

// handOver gives how long it takes from a leader's shutdown to the next leader.
func handOver(t *testing.T, fetchTimeout time.Duration) time.Duration {
	t.Helper()
	q := newQuorum(t, 3, func(c *Config) { c.FetchTimeout, c.RequestTimeout = fetchTimeout, 5*time.Second })
	lead, at := q.leader()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	start := time.Now()
	if err := lead.client.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	lead.kill()
	_, next := q.leader()
	if next.Epoch <= at.Epoch {
		t.Fatalf("%+v after %+v", next, at)
	}
	return time.Since(start)
}

func TestSnapshotBringsAnOldNodeUp(t *testing.T) {
	q := newQuorum(t, 3, func(c *Config) {
		calm(c)
		c.SegmentBytes, c.RetentionBytes = 2000, 1
	})
	lead, at := q.leader()
	var slow *node
	for _, n := range q.nodes {
		if n != lead {
			slow = n
			break
		}
	}
	slow.kill()
	var want []string
	for i := range 200 {
		v := fmt.Sprintf("value %d", i)
		if err := lead.write(at.Epoch, v); err != nil {
			t.Fatal(err)
		}
		want = append(want, v)
	}
	await(t, "the leader's listener", func() bool { v, _ := lead.rec.snapshot(); return len(v) == 200 })
	w, err := lead.client.NewSnapshot(lead.rec.end())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range want {
		if err := w.Append([]byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := lead.client.FinishSnapshot(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	await(t, "the log to be cut", func() bool { return lead.client.log.StartOffset() > 0 })
	again := q.start(slow.cfg.NodeID)
	late := q.start(101) // an observer from nothing
	if err := lead.write(at.Epoch, "after"); err != nil {
		t.Fatal(err)
	}
	q.awaitAll(append(want, "after"))
	for _, n := range []*node{again, late} {
		n.rec.mu.Lock()
		if n.rec.loads != 1 {
			t.Errorf("node %d loaded %d snapshots, want 1", n.cfg.NodeID, n.rec.loads)
		}
		n.rec.mu.Unlock()
	}
}

// A snapshot that is too old goes with the log that it covers once there is
// another; the latest stays however old.
func TestRetentionAge(t *testing.T) {
	q := newQuorum(t, 1, func(c *Config) { c.SegmentBytes, c.RetentionAge = 500, time.Hour })
	lead, at := q.leader()
	for i, c := range []struct {
		age       time.Duration // of the last record, by the snapshot
		cut       bool
		snapshots int
	}{
		{2 * time.Hour, false, 1},
		{time.Minute, true, 1},
		{0, false, 2},
	} {
		for range 20 {
			if err := lead.write(at.Epoch, fmt.Sprintf("values of round %d", i)); err != nil {
				t.Fatal(err)
			}
		}
		await(t, "the listener", func() bool { v, _ := lead.rec.snapshot(); return len(v) == 21*i+20 })
		lead.rec.mu.Lock()
		id := lead.rec.last
		lead.rec.mu.Unlock()
		start := lead.client.log.StartOffset()
		w, err := lead.client.NewSnapshot(id, time.Now().Add(-c.age).UnixMilli())
		if err != nil {
			t.Fatal(err)
		}
		if err := lead.client.FinishSnapshot(context.Background(), w); err != nil {
			t.Fatal(err)
		}
		if err := lead.write(at.Epoch, "behind it"); err != nil { // the client has handled the snapshot then
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(lead.cfg.Dir, metalog.PartitionDir, "*.checkpoint"))
		if cut := lead.client.log.StartOffset() > start; err != nil || cut != c.cut || len(files) != c.snapshots {
			t.Errorf("round %d: cut %t, snapshots %q, %v", i, cut, files, err)
		}
	}
}

func TestObserverInMemoryKeepsLittle(t *testing.T) {
	q := newQuorum(t, 1, nil)
	voterTune := q.tune
	q.tune = func(c *Config) { c.Dir = "" }
	obs := q.start(100)
	q.tune = voterTune
	lead, at := q.leader()
	big := string(make([]byte, 256<<10))
	var want []string
	for range 20 {
		if err := lead.write(at.Epoch, big); err != nil {
			t.Fatal(err)
		}
		want = append(want, big)
	}
	q.awaitAll(want)
	await(t, "what was delivered to be dropped", func() bool {
		if obs.client.log.SizeBytes() < 2<<20 {
			return true
		}
		// An observer that was late has all in its last segment, which stays until
		// there is another.
		_ = lead.write(at.Epoch, big)
		return false
	})
}

func TestVoterNeedsADirectory(t *testing.T) {
	_, err := New(Config{NodeID: 1, Voters: []Voter{{ID: 1, Host: "h", Port: 1}}, Listener: &recorder{}})
	if err == nil {
		t.Fatal("a voter without a directory was made")
	}
}

func TestDirectoryOfAnotherNodeIsRefused(t *testing.T) {
	dir := t.TempDir()
	voters := []Voter{{ID: 1, Host: "127.0.0.1", Port: 1}, {ID: 2, Host: "127.0.0.1", Port: 2}}
	c, err := New(Config{NodeID: 1, ClusterID: "a", Voters: voters, Listener: &recorder{}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{NodeID: 1, ClusterID: "a", Voters: voters, Listener: &recorder{}, Dir: dir}); !errors.Is(err, metalog.ErrLocked) {
		t.Errorf("a second process: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{NodeID: 2, ClusterID: "a", Voters: voters, Listener: &recorder{}, Dir: dir}); err == nil {
		t.Error("another node took the directory")
	}
}

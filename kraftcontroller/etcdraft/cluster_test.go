package etcdraft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// await polls until ok, for at most 30 s.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30s for %s", what)
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
	leader raftclient.LeaderAndEpoch
	last   metalog.SnapshotID // end of the last batch
}

func (r *recorder) HandleCommit(batches []metalog.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range batches {
		if b.BaseOffset != r.next {
			return fmt.Errorf("batch at %d where %d is next", b.BaseOffset, r.next)
		}
		r.next = b.EndOffset()
		r.last = metalog.SnapshotID{EndOffset: r.next, Epoch: b.Epoch}
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
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, rec := range b.Records {
			r.values = append(r.values, string(rec.Value))
		}
	}
}

func (r *recorder) HandleLeaderChange(l raftclient.LeaderAndEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leader = l
}

func (r *recorder) have() (values []string, leader raftclient.LeaderAndEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.values), r.leader
}

// node is a voter, or an observer where push is nil.
type node struct {
	t      testing.TB
	id     kafka.BrokerID
	path   string
	client *raftclient.Client
	rec    *recorder
	push   *Push
	gate   Gate
	server *wire.Server
	cancel context.CancelFunc
	done   chan error
}

type quorum struct {
	t      testing.TB
	dir    string
	voters []raftclient.Voter
	gate   Gate
	tune   func(*raftclient.Config)
	nodes  map[kafka.BrokerID]*node
}

func logger() *slog.Logger {
	if os.Getenv("KBENCH_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

func newQuorum(t testing.TB, n int, tune func(*raftclient.Config)) *quorum {
	t.Helper()
	return newGatedQuorum(t, n, Gate{}, tune)
}

func newGatedQuorum(t testing.TB, n int, gate Gate, tune func(*raftclient.Config)) *quorum {
	t.Helper()
	q := &quorum{t: t, dir: t.TempDir(), gate: gate, tune: tune, nodes: map[kafka.BrokerID]*node{}}
	for i := range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		q.voters = append(q.voters, raftclient.Voter{ID: kafka.BrokerID(i), Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)})
		ln.Close()
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
	n := &node{t: q.t, id: id, path: q.path(id), gate: q.gate, rec: &recorder{}, done: make(chan error, 1)}
	cfg := raftclient.Config{
		NodeID: id, ClusterID: "test", Voters: q.voters, Listener: n.rec, Dir: q.path(id),
		FetchTimeout: 400 * time.Millisecond, Logger: logger().With("node", id),
	}
	if q.tune != nil {
		q.tune(&cfg)
	}
	i := slices.IndexFunc(q.voters, func(v raftclient.Voter) bool { return v.ID == id })
	if i >= 0 {
		n.push = New()
		cfg.Algorithm = n.push
	}
	var err error
	if n.client, err = raftclient.New(cfg); err != nil {
		q.t.Fatal(err)
	}
	var ctx context.Context
	ctx, n.cancel = context.WithCancel(context.Background())
	if i >= 0 {
		n.serve(q.voters[i].Addr(), cfg.Logger)
	}
	go func() { n.done <- n.client.Run(ctx) }()
	q.nodes[id] = n
	return n
}

func (q *quorum) path(id kafka.BrokerID) string { return filepath.Join(q.dir, fmt.Sprint(id)) }

func (n *node) serve(addr string, log *slog.Logger) {
	n.t.Helper()
	var err error
	if n.server, err = wire.NewServer(wire.ServerConfig{APIs: n.client.APIs(), Listener: raftclient.ControllerListener, Logger: log, TLS: n.gate.TLS}); err != nil {
		n.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		n.t.Fatal(err)
	}
	go n.server.Serve(n.push.Listener(ln, n.gate))
}

// kill ends a node as a crash does: no handover, no last fsync.
func (n *node) kill() {
	if n.cancel == nil {
		return
	}
	n.cancel()
	n.cancel = nil
	if err := <-n.done; err != nil {
		n.t.Errorf("node %d: %v", n.id, err)
	}
	if n.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := n.server.Close(ctx); err != nil {
		n.t.Errorf("node %d: %v", n.id, err)
	}
}

// leader waits until a live voter was told that it leads, and all live nodes
// agree.
func (q *quorum) leader() (*node, kafka.LeaderEpoch) {
	q.t.Helper()
	var leads *node
	var epoch kafka.LeaderEpoch
	await(q.t, "a leader that all agree on", func() bool {
		leads = nil
		var at raftclient.LeaderAndEpoch
		for _, n := range q.nodes {
			if n.cancel == nil {
				continue
			}
			_, l := n.rec.have()
			if l.Leader == raft.None || at.Epoch != 0 && l != at {
				return false
			}
			at = l
			if l.Leader == n.id {
				leads = n
			}
		}
		epoch = at.Epoch
		return leads != nil
	})
	return leads, epoch
}

// write appends values through whoever leads, until they are accepted.
func (q *quorum) write(values ...string) {
	q.t.Helper()
	raw := make([][]byte, len(values))
	for i, v := range values {
		raw[i] = []byte(v)
	}
	await(q.t, "a leader that takes records", func() bool {
		l, epoch := q.leader()
		_, err := l.client.Append(epoch, raw)
		return err == nil
	})
}

// agree waits until all live nodes have exactly want.
func (q *quorum) agree(want []string) {
	q.t.Helper()
	for _, n := range q.nodes {
		if n.cancel == nil {
			continue
		}
		await(q.t, fmt.Sprintf("node %d to have %d values", n.id, len(want)), func() bool {
			have, _ := n.rec.have()
			if len(have) > len(want) {
				q.t.Fatalf("node %d has %d values, want %d: %v", n.id, len(have), len(want), have)
			}
			return slices.Equal(have, want)
		})
	}
}

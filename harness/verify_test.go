package harness

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/results"
	"kbench/workloads"
)

// settling is a broker whose metadata lacks the acknowledged topic for the
// first looks, and the process that holds it.
type settling struct {
	provider.Node
	lacksFor int64
	looked   func(n int64) // hears of each look; nil for nobody
	looks    atomic.Int64
	deadline atomic.Pointer[time.Time] // of the last look
	dirs     func() []kafka.ErrorCode  // of each log directory
}

func (s *settling) Name() string  { return "broker-1" }
func (s *settling) Running() bool { return true }

func (s *settling) Trace(ctx context.Context) (io.ReadCloser, error) {
	if d, ok := ctx.Deadline(); ok {
		s.deadline.Store(&d)
	}
	return io.NopCloser(bytes.NewReader(nil)), nil
}

// metadata answers Metadata with one topic, and with the acknowledged one too
// when the broker has settled.
func (s *settling) metadata(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	names := []string{"early"}
	n := s.looks.Add(1)
	if n > s.lacksFor {
		names = append(names, "late")
	}
	if s.looked != nil {
		s.looked(n)
	}
	resp := r.Body.ResponseKind().(*kmsg.MetadataResponse)
	for i, name := range names {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.TopicID = kmsg.StringPtr(name), kafka.UUID{15: byte(i + 1)}
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Leader, p.Replicas, p.ISR = 1, []int32{1}, []int32{1}
		t.Partitions = append(t.Partitions, p)
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}

// settlingCell is a cell whose one broker settles after some looks and whose
// clients were told of both topics.
// logDirs answers as a broker with the log directories that the process has.
func (s *settling) logDirs(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	resp := r.Body.(*kmsg.DescribeLogDirsRequest).ResponseKind().(*kmsg.DescribeLogDirsResponse)
	if s.dirs != nil {
		for _, code := range s.dirs() {
			d := kmsg.NewDescribeLogDirsResponseDir()
			d.ErrorCode = int16(code)
			resp.Dirs = append(resp.Dirs, d)
		}
	}
	return resp, nil
}

func settlingCell(t *testing.T, lacksFor int64) (*cellRun, *settling) {
	t.Helper()
	s := &settling{lacksFor: lacksFor}
	server, err := wire.NewServer(wire.ServerConfig{
		Listener: "PLAINTEXT", Logger: slog.New(slog.DiscardHandler),
		APIs: []wire.API{
			{Key: 3, MinVersion: metadataVersion, MaxVersion: metadataVersion, Handle: s.metadata},
			{Key: 35, MinVersion: 4, MaxVersion: 4, Handle: s.logDirs},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() { _, _ = server.Close(context.Background()), <-served })
	run := newCellRun(t)
	run.spec.Target = spec.AttachTarget // whose nodes trace nothing
	run.cluster = &cluster{excluded: map[kafka.BrokerID]bool{}, nodes: []*node{{id: 1, addr: l.Addr().String(), worker: true, proc: s}}}
	for at := range int64(2) { // what health gates saw
		run.cluster.seen = append(run.cluster.seen, checker.Observation{AtNs: at, Broker: 1, Topic: "early", TopicID: kafka.UUID{15: 1}, Leader: 1})
	}
	for i, name := range []string{"early", "late"} {
		run.rec.Acked(workloads.Operation{Kind: workloads.OpCreateTopic, Topic: name, TopicID: kafka.UUID{15: byte(i + 1)}, Partitions: 1})
	}
	return run, s
}

func acknowledgedCheck(t *testing.T, run *cellRun) results.Check {
	t.Helper()
	i := slices.IndexFunc(run.out.Checks, func(c results.Check) bool { return c.Name == "acknowledged" })
	if i < 0 {
		t.Fatalf("no check of what was acknowledged: %+v", run.out.Checks)
	}
	return run.out.Checks[i]
}

// What was acknowledged a moment ago may be on its way: the look is repeated
// until brokers serve it, within its bound.
func TestCheckWaitsForWhatIsOnItsWay(t *testing.T) {
	began := time.Now()
	run, s := settlingCell(t, 3)
	if err := run.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := acknowledgedCheck(t, run); !c.OK || c.Looked != 2 {
		t.Errorf("%+v", c)
	}
	if n := s.looks.Load(); n != 4 {
		t.Errorf("%d looks, want 4: as many as it took and none more", n)
	}
	d := s.deadline.Load()
	if d == nil || d.After(time.Now().Add(settleTimeout)) || d.Before(began.Add(settleTimeout/2)) {
		t.Errorf("a look may take until %v, %v after the begin", d, settleTimeout)
	}
	if len(run.out.Checks) != len(checker.Check(checker.History{})) {
		t.Errorf("%d checks are kept, want each once: %+v", len(run.out.Checks), run.out.Checks)
	}
}

// What is lost stays lost: the last look decides, and its history is kept for
// kbench verify.
func TestCheckEndsOnALoss(t *testing.T) {
	run, s := settlingCell(t, 1<<40)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s.looked = func(n int64) {
		if n == 4 {
			<-ctx.Done()
		}
	}
	if err := run.check(ctx); err != nil {
		t.Fatal(err)
	}
	c := acknowledgedCheck(t, run)
	if c.OK || len(c.Faults) != 1 || !strings.Contains(c.Faults[0], `topic "late" was acknowledged and is missing on broker 1`) {
		t.Errorf("%+v", c)
	}
	if n := s.looks.Load(); n != 4 {
		t.Errorf("%d looks, want as many as there was time for", n)
	}
	run.judge(t.Context(), nil)
	if run.out.Verdict != results.Invalid {
		t.Errorf("the cell is %s", run.out.Verdict)
	}
}

// An interrupt while the cluster settles is no verdict on it. What clients were
// told is kept for kbench verify.
func TestCheckInterrupted(t *testing.T) {
	run, s := settlingCell(t, 1<<40)
	ctx, cancel := context.WithCancel(t.Context())
	s.looked = func(n int64) {
		if n == 2 {
			cancel()
		}
	}
	if err := run.check(ctx); err == nil || len(run.out.Checks) != 0 {
		t.Errorf("%v, checks %+v", err, run.out.Checks)
	}
	if err := run.keepInterrupted(ctx); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(run.w.Dir(), run.stem()+checker.FileSuffix))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	h, err := checker.Read(f)
	if err != nil || !h.Interrupted || len(h.Operations) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	if v := checker.Check(h); !v.OK() {
		t.Errorf("%+v", v)
	}
}

// A history that is full says so, and how much it lacks.
func TestObservationsBeyondTheBound(t *testing.T) {
	c := &cluster{seen: make([]checker.Observation, maxObservations)}
	m := kmsg.NewPtrMetadataResponse()
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.Partitions = kmsg.StringPtr("a"), make([]kmsg.MetadataResponseTopicPartition, 3)
	m.Topics = append(m.Topics, topic)
	c.observe(1, m)
	if kept, unkept := c.observations(); len(kept) != maxObservations || unkept != 3 {
		t.Errorf("%d observations are kept and %d are not", len(kept), unkept)
	}
}

// A cluster that cannot be asked at all is an error and no verdict.
func TestCheckWithoutAnAnswer(t *testing.T) {
	run, _ := settlingCell(t, 0)
	run.cluster.nodes[0].addr = "127.0.0.1:1"
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := run.check(ctx)
	if err == nil || !strings.Contains(err.Error(), "verify: wait until the cluster has settled") || len(run.out.Checks) != 0 {
		t.Errorf("%v, checks %+v", err, run.out.Checks)
	}
}

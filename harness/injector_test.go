package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/workloads"
)

// hurtNode is a node that takes every fault and, where it is deaf, does nothing
// of it.
type hurtNode struct {
	provider.Node
	name string
	deaf bool

	gone    bool
	periods int64
	percent int
	dirs    int          // log directories
	lost    atomic.Int32 // the number of the one that failed; a server reads it
	events  []trace.Event
}

func (n *hurtNode) Name() string  { return n.name }
func (n *hurtNode) Running() bool { return !n.gone }

func (n *hurtNode) Signal(_ context.Context, s provider.Signal) (int64, error) {
	n.gone = n.gone || !n.deaf && (s == provider.Kill || s == provider.Term)
	return trace.Now(), nil
}

func (n *hurtNode) Wait(ctx context.Context) (int64, int, error) {
	if n.gone {
		return trace.Now(), -1, nil
	}
	<-ctx.Done()
	return 0, 0, ctx.Err()
}

func (n *hurtNode) Start(context.Context) error {
	n.gone = false
	n.lost.Store(0)
	return nil
}

func (n *hurtNode) LimitCPU(_ context.Context, percent int) error { n.percent = percent; return nil }

func (n *hurtNode) CPUPeriods(context.Context) (int64, int64, error) {
	if n.percent > 0 && !n.deaf {
		n.periods++
	}
	return n.periods, 0, nil
}

func (n *hurtNode) SetDisk(_ context.Context, f nodeconfig.DiskFault) error {
	kind := trace.DiskHealed
	if f.Wrong() {
		kind = trace.DiskFault
	}
	if !n.deaf && f.LogDir > 0 {
		n.lost.Store(int32(f.LogDir))
	}
	if !n.deaf {
		n.events = append(n.events, trace.Event{T: trace.Now(), Kind: kind, N: f.Seq})
	}
	return nil
}

// logDirs gives the error of each log directory.
func (n *hurtNode) logDirs() []kafka.ErrorCode {
	out := make([]kafka.ErrorCode, n.dirs)
	if lost := n.lost.Load(); lost > 0 {
		out[lost-1] = kafka.KafkaStorageError
	}
	return out
}

func (n *hurtNode) Trace(context.Context) (io.ReadCloser, error) {
	var b bytes.Buffer
	for _, e := range n.events {
		line, _ := json.Marshal(e)
		b.Write(append(line, '\n'))
	}
	return io.NopCloser(&b), nil
}

// hurtCluster has one node, which listens for as long as the test runs.
func hurtCluster(t *testing.T, deaf bool) *injector {
	t.Helper()
	run, s := settlingCell(t, 0)
	n := run.cluster.nodes[0]
	hurt := &hurtNode{name: "controller-1", deaf: deaf, dirs: 2}
	s.dirs = hurt.logDirs
	n.racer, n.proc = true, hurt
	run.cluster.starts = map[kafka.BrokerID]int{}
	return newInjector(run.cluster, 1)
}

// TestFaultsThatDoNothingAreFound: each kind's probe tells a fault that was asked
// for and not made.
func TestFaultsThatDoNothingAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		f    workloads.TimedFault
		want string
	}{
		"kill":        {workloads.TimedFault{Fault: workloads.FaultKill}, "controller-1"},
		"stop":        {workloads.TimedFault{Fault: workloads.FaultStop}, "controller-1"},
		"restart":     {workloads.TimedFault{Fault: workloads.FaultRestart}, "controller-1"},
		"pause":       {workloads.TimedFault{Fault: workloads.FaultPause}, "it answers although it is paused"},
		"cpu":         {workloads.TimedFault{Fault: workloads.FaultCPU, CPUPercent: 10}, "the kernel counts periods under its quota"},
		"fsync-delay": {workloads.TimedFault{Fault: workloads.FaultFsyncDelay, Delay: time.Second}, "its log meets the fault"},
		"fsync-error": {workloads.TimedFault{Fault: workloads.FaultFsyncError}, "its log meets the fault"},
		"disk-full":   {workloads.TimedFault{Fault: workloads.FaultDiskFull}, "its log meets the fault"},
		"log-dir":     {workloads.TimedFault{Fault: workloads.FaultLogDir}, "1 of its log directories have failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.f.On = []string{"controller-1"}
			in := hurtCluster(t, true)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := in.Begin(ctx, c.f); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestFaultsOfANode: those that are made are seen to bite and to heal.
func TestFaultsOfANode(t *testing.T) {
	for _, f := range []workloads.TimedFault{
		{Fault: workloads.FaultKill},
		{Fault: workloads.FaultRestart},
		{Fault: workloads.FaultCPU, CPUPercent: 10},
		{Fault: workloads.FaultFsyncError},
		{Fault: workloads.FaultLogDir},
	} {
		t.Run(string(f.Fault), func(t *testing.T) {
			t.Parallel()
			f.On = []string{"controllers"}
			in := hurtCluster(t, false)
			s, err := in.Begin(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if s.SentNs > s.BitNs || s.Node != 1 || strings.Join(s.Names, " ") != "controller-1" {
				t.Errorf("%+v", s)
			}
			undone, healed, err := s.End(t.Context())
			if err != nil || undone < s.BitNs || healed < undone {
				t.Errorf("undone at %d, healed at %d, bit at %d: %v", undone, healed, s.BitNs, err)
			}
		})
	}
}

// TestFaultsThatCannotStandTogether: a second fault of a node is not made later
// than it is due, but not at all; those that slow it down in other ways are.
func TestFaultsThatCannotStandTogether(t *testing.T) {
	fault := func(kind workloads.Fault) workloads.TimedFault {
		return workloads.TimedFault{Fault: kind, On: []string{"controllers"}, At: 2 * time.Second, CPUPercent: 10, Delay: time.Millisecond}
	}
	in := hurtCluster(t, false)
	kill, err := in.Begin(t.Context(), fault(workloads.FaultKill))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Begin(t.Context(), fault(workloads.FaultPause)); err == nil || !strings.Contains(err.Error(), "controller-1 has not healed of kill on controllers at 2s: begin it later") {
		t.Errorf("got %v", err)
	}
	if _, _, err := kill.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	cpu, err := in.Begin(t.Context(), fault(workloads.FaultCPU))
	if err != nil {
		t.Fatal(err)
	}
	slow, err := in.Begin(t.Context(), fault(workloads.FaultFsyncDelay))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []workloads.Standing{cpu, slow} {
		if _, _, err := s.End(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestRolesSpareWhoIsHurt: of those that have a role one is drawn that can take
// the fault.
func TestRolesSpareWhoIsHurt(t *testing.T) {
	in := newInjector(nil, 1)
	a, b := subject{proc: &hurtNode{name: "a"}}, subject{proc: &hurtNode{name: "b"}}
	if _, err := in.stand(workloads.TimedFault{Fault: workloads.FaultPause}, []subject{a}); err != nil {
		t.Fatal(err)
	}
	if got := namesOf(in.spared([]subject{a, b}, workloads.FaultKill)); len(got) != 1 || got[0] != "b" {
		t.Errorf("spared leaves %v", got)
	}
	if got := in.spared([]subject{a}, workloads.FaultKill); len(got) != 1 {
		t.Errorf("nobody else: %v", namesOf(got))
	}
}

// TestImpairedTellsAFault: a network that delivers everything at once is met by
// no fault, and awaiting one fails.
func TestImpairedTellsAFault(t *testing.T) {
	near, far := fakeAgent(t, "10.0.0.1", true), fakeAgent(t, "10.0.0.2", true)
	for _, f := range []netfault.Fault{
		{Kind: netfault.Delay, Delay: 100 * time.Millisecond},
		{Kind: netfault.Rate, BitsPerSecond: 1_000_000},
	} {
		met, _, err := impaired(t.Context(), f, 0, near, far)
		if err != nil || met {
			t.Errorf("%s: met %v, %v", f.Kind, met, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := awaitImpaired(ctx, f, 0, near, far, true); err == nil || !strings.Contains(err.Error(), "bites") {
			t.Errorf("%s: %v", f.Kind, err)
		}
		if err := awaitImpaired(t.Context(), f, 0, near, far, false); err != nil {
			t.Errorf("%s: %v", f.Kind, err)
		}
		cancel()
	}
}

// TestLogDirsThatCannotFail: a broker with one directory is refused before anything
// is done to it, and so is one that hosts no replicas.
func TestLogDirsThatCannotFail(t *testing.T) {
	f := workloads.TimedFault{Fault: workloads.FaultLogDir, On: []string{"controller-1"}}
	in := hurtCluster(t, false)
	n := in.c.nodes[0].proc.(*hurtNode)
	n.dirs = 1
	if _, err := in.Begin(t.Context(), f); err == nil || !strings.Contains(err.Error(), "broker 1 has 1 log directory") || n.events != nil {
		t.Errorf("got %v, events %v", err, n.events)
	}
	in.c.nodes[0].worker = false
	if _, err := in.Begin(t.Context(), f); err == nil || !strings.Contains(err.Error(), "controller-1 has no log directories") {
		t.Errorf("got %v", err)
	}
}

func TestNobodyIsMeant(t *testing.T) {
	in := hurtCluster(t, false)
	_, err := in.Begin(t.Context(), workloads.TimedFault{Fault: workloads.FaultKill, On: []string{"broker-9"}})
	if err == nil || !strings.Contains(err.Error(), `there is no "broker-9" in this cluster; there are [controller-1]`) {
		t.Errorf("got %v", err)
	}
	if _, err := in.Begin(t.Context(), workloads.TimedFault{Fault: workloads.FaultIsolate, On: []string{"controller-1"}}); err == nil {
		t.Error("a node without a network of its own was isolated")
	}
}

// TestSeedDrawsWhoIsMeant: twenty seeds meet everybody who has a role, and one
// seed always the same.
func TestSeedDrawsWhoIsMeant(t *testing.T) {
	three := []subject{{addr: "a"}, {addr: "b"}, {addr: "c"}}
	met := map[string]bool{}
	for seed := range uint64(20) {
		in, f := newInjector(nil, seed), workloads.TimedFault{At: 5 * time.Second}
		got := one(three, in.draw(f))[0].addr
		if again := one(three, in.draw(f))[0].addr; again != got {
			t.Fatalf("seed %d draws %s and %s", seed, got, again)
		}
		met[got] = true
	}
	if len(met) != 3 {
		t.Errorf("twenty seeds meet %v alone", met)
	}
	if one(nil, newInjector(nil, 1).draw(workloads.TimedFault{})) != nil {
		t.Error("somebody of nobody")
	}
}

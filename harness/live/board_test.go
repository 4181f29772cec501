package live

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kbench/harness"
	"kbench/results"
	"kbench/workloads"
)

func at(cell int, phase string, w workloads.Progress) harness.Progress {
	return harness.Progress{Cell: cell, Cells: 4, ID: fmt.Sprint("cell", cell), Target: "zk", Partitions: 1000, Phase: phase, Work: w}
}

func TestTimeLeft(t *testing.T) {
	minute := func(string) time.Duration { return time.Minute }
	for name, c := range map[string]struct {
		plan    Plan
		cells   []time.Duration // what finished ones took
		elapsed time.Duration   // of the one under way
		want    time.Duration   // -1: no guess
	}{
		"nothing known":          {want: -1},
		"finished cells only":    {cells: []time.Duration{50 * time.Second, 50 * time.Second}, elapsed: time.Second, want: 99 * time.Second},
		"the plan alone":         {plan: Plan{Total: 4 * time.Minute, Cell: minute}, elapsed: 15 * time.Second, want: 3*time.Minute + 45*time.Second},
		"cells as planned":       {plan: Plan{Total: 4 * time.Minute, Cell: minute}, cells: []time.Duration{time.Minute, time.Minute}, want: 2 * time.Minute},
		"cells twice as long":    {plan: Plan{Total: 4 * time.Minute, Cell: minute}, cells: []time.Duration{2 * time.Minute, 2 * time.Minute}, want: 216 * time.Second},
		"an overdue cell":        {plan: Plan{Total: 4 * time.Minute, Cell: minute}, elapsed: time.Hour, want: 3 * time.Minute},
		"the last cell, overdue": {plan: Plan{Total: 4 * time.Minute, Cell: minute}, cells: []time.Duration{time.Minute, time.Minute, time.Minute}, elapsed: time.Hour, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			b := newBoard(c.plan, func() time.Time { return now })
			for i, took := range c.cells {
				b.Update(at(i+1, "up", workloads.Progress{}))
				now = now.Add(took)
			}
			p := at(len(c.cells)+1, "up", workloads.Progress{})
			b.Update(p)
			now = now.Add(c.elapsed)
			s := b.Snapshot()
			if s.LeftKnown != (c.want >= 0) || s.LeftKnown && (s.Left-c.want).Abs() > time.Millisecond {
				t.Errorf("%v left (known: %v), want %v", s.Left, s.LeftKnown, c.want)
			}
		})
	}
}

func TestItemsTellWhatHappened(t *testing.T) {
	now := time.Now()
	b := newBoard(Plan{}, func() time.Time { return now })
	p := at(1, "workload", workloads.Progress{Workload: "controlled-shutdown", Trial: 1, Trials: 3})
	p.Controller = harness.Controller{ID: 101, Epoch: 1}
	p.Faults = []harness.ActiveFault{{Node: 2, Fault: workloads.FaultStop, Since: now}}
	b.Update(p)
	now = now.Add(2 * time.Second)
	p.Faults = nil
	p.Headline = harness.Headline{Metric: "controlled-shutdown.moved", Unit: results.Nanoseconds, N: 1, P50: 5e8, P99: math.NaN()}
	p.Trial = &workloads.Trial{Workload: "controlled-shutdown", N: 1, Valid: true, Values: []workloads.Value{{Metric: "controlled-shutdown", Phase: "moved", V: 25e7}}}
	b.Update(p)
	p.Trial = nil
	p.Faults = []harness.ActiveFault{{Node: 2, Fault: workloads.FaultStop, Since: now}}
	b.Update(p)
	b.Update(at(2, "up", workloads.Progress{})) // its end ends the fault
	var got []string
	items, _ := b.Items(0, 100)
	for _, i := range items {
		got = append(got, fmt.Sprintf("%d %s %s node %d epoch %d value %g p99 %g", i.At/time.Second, i.Kind, i.Text, i.Node, i.Epoch, i.Value, i.P99))
	}
	want := `0 fault stop node 2 epoch 0 value 0 p99 0
0 controller  node 101 epoch 1 value 0 p99 0
0 step cell 1/4 zk 1000 partitions: controlled-shutdown trial 1/3 node 0 epoch 0 value 0 p99 0
2 healed  node 2 epoch 0 value 0 p99 0
2 trial controlled-shutdown trial 1 node 0 epoch 0 value 0.25 p99 NaN
2 sample  node 0 epoch 0 value 0.5 p99 NaN
2 fault stop node 2 epoch 0 value 0 p99 0
2 healed  node 2 epoch 0 value 0 p99 0
2 step cell 2/4 zk 1000 partitions: up node 0 epoch 0 value 0 p99 0`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got:\n%s\nwant:\n%s", s, want)
	}
}

// The board forgets the oldest and says how much.
func TestItemsAreBounded(t *testing.T) {
	b := NewBoard(Plan{})
	const lines = maxItems + 100
	for i := range lines {
		b.Line(fmt.Sprint(i + 1))
	}
	items, forgotten := b.Items(0, 10)
	if forgotten != 100 || len(items) != 10 || items[0].Text != "101" || items[0].Seq != 101 {
		t.Errorf("%d forgotten, first %+v", forgotten, items[0])
	}
	if items, forgotten = b.Items(lines-1, 10); forgotten != 0 || len(items) != 1 || items[0].Text != fmt.Sprint(lines) {
		t.Errorf("%d forgotten, %+v", forgotten, items)
	}
	var out strings.Builder
	v := newView(&out, nil, b)
	v.print(v.flush(), nil)
	if got := strings.Count(out.String(), "\n"); got != maxItems+1 || !strings.HasPrefix(out.String(), "(up to 100 messages") {
		t.Errorf("%d lines, from %.60q", got, out.String())
	}
}

// stuck is a terminal that was stopped: it takes nothing until it is released.
type stuck struct{ release chan struct{} }

func (s stuck) Write(b []byte) (int, error) {
	<-s.release
	return len(b), nil
}

// A terminal that takes nothing holds up neither who measures nor, for longer
// than its bound, the end.
func TestAStoppedTerminalDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := stuck{make(chan struct{})}
		b := NewBoard(Plan{})
		v := NewView(out, &Terminal{Size: func() (int, int) { return 80, 24 }}, b)
		synctest.Wait() // the view hangs in its first write
		start := time.Now()
		for i := range 1000 {
			b.Update(at(1, "workload", workloads.Progress{Workload: "propagation", Done: i, Total: 1000}))
			b.Line("line")
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("1000 updates took %v", took)
		}
		v.Close()
		if took := time.Since(start); took != closeTimeout {
			t.Errorf("Close took %v, want %v", took, closeTimeout)
		}
		close(out.release)
	})
}

// A view draws at most ten frames in a second and one a second where nothing
// happens, and Close prints the last line and takes the block away.
func TestViewKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &countingVT{vt: newVT(t, 80, 24)}
		b := NewBoard(Plan{Name: "paced"})
		v := NewView(out, &Terminal{Size: out.vt.Size}, b)
		for i := range 1000 {
			b.Update(at(1, "workload", workloads.Progress{Workload: "propagation", Done: i, Total: 1000}))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if n := out.count(); n < 9 || n > 12 {
			t.Errorf("%d frames in a second of updates, want about 10", n)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := out.count(); n < 9+8 || n > 12+11 {
			t.Errorf("%d frames after ten more idle seconds", n)
		}
		b.Line("the last line")
		v.Close()
		v.Close()
		out.vt.sane()
		if got := out.vt.screen(); got != "|the last line\n|\n" {
			t.Errorf("left on the terminal:\n%s", got)
		}
	})
}

type countingVT struct {
	mu sync.Mutex
	n  int
	vt *vt
}

func (c *countingVT) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.vt.Write(b)
}

func (c *countingVT) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

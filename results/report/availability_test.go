package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/results"
)

// rolling writes a run of two sides that were restarted broker by broker. The
// curve of each is short of all in two steps, was not asked in one and lost all in
// another; that of kraft says how wide its steps are. Trials that do not count leave curves too: an invalid one, which was
// run again under its number, and an attempt that was dropped.
func rolling(t *testing.T) string {
	t.Helper()
	w, err := results.Create(t.TempDir(), "rolling", started)
	if err != nil {
		t.Fatal(err)
	}
	m := results.Manifest{Name: "rolling", Started: started, Ended: started.Add(time.Hour)}
	for i, target := range []string{"zk", "kraft"} {
		c := results.Cell{ID: target + ".base", Target: target, Variant: "base", Partitions: 1000, Verdict: results.Valid}
		m.Cells = append(m.Cells, c)
		at := int64(i+1) * 10_000 * second
		emit := func(trial int, ns int64, kind, node string, data map[string]any) {
			e := results.Event{MonoNs: ns, Wall: started, Cell: c.ID, Repeat: 1, Workload: "rolling-restart", Trial: trial, Kind: kind, Node: node, Data: data}
			if err := w.Event(e); err != nil {
				t.Fatal(err)
			}
		}
		roll := func(trial int, from int64, valid bool, acked ...int64) {
			for k, broker := range []string{"2", "1"} {
				stop := from + int64(3*k)*second
				emit(trial, stop, "fault", broker, map[string]any{"detail": "stop"})
				emit(trial, stop+second/2, "healed", broker, map[string]any{"detail": "start"})
				emit(trial, stop+2*second, "restored", broker, map[string]any{"detail": "healthy again"})
			}
			for k, n := range acked {
				if n >= 0 {
					data := map[string]any{"due": 64, "acked": n}
					if i == 1 {
						data["stepNs"] = second
					}
					emit(trial, from+int64(k)*second, "availability", "", data)
				}
			}
			emit(trial, from, "trial", "", map[string]any{"valid": valid, "reason": "why", "endNs": from + int64(len(acked))*second})
		}
		roll(1, at, true, 1, 2, 3)
		emit(0, at+9*second, "attempt.dropped", "", map[string]any{"reason": "run again"})
		roll(1, at+100*second, false, 4, 5, 6)
		roll(1, at+200*second, true, 64, 48, 64, -1, 0, 64, int64(60+i))
		roll(2, at+300*second, true, 64, 64)
		emit(3, at+400*second, "availability", "", map[string]any{"due": 64, "acked": 1}) // interrupted
		s := results.Sample{Cell: c.ID, Workload: "rolling-restart", Repeat: 1, Trial: 1, Metric: "rolling-restart.total", Value: 7e9, Unit: results.Nanoseconds, Valid: true}
		if err := w.Sample(s); err != nil {
			t.Fatal(err)
		}
	}
	path, err := w.Commit(m)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const second = int64(time.Second)

func TestAvailability(t *testing.T) {
	rep := mustReport(t, mustOpen(t, rolling(t)))
	if len(rep.Availability) != 4 || rep.AvailabilityMore != 0 {
		t.Fatalf("%d curves and %d more, want those of two valid trials a side", len(rep.Availability), rep.AvailabilityMore)
	}
	a := rep.Availability[2]
	faults := []FaultSpan{{"2", "stop", 0, second / 2, 2 * second}, {"1", "stop", 3 * second, 3*second + second/2, 5 * second}}
	if a.Cell != "kraft.base" || a.Trial != 1 || a.StepNs != second || !slices.Equal(a.Due, []int64{64, 64, 64, 0, 64, 64, 64}) ||
		!slices.Equal(a.Acked, []int64{64, 48, 64, 0, 0, 64, 61}) || !slices.Equal(a.Faults, faults) {
		t.Errorf("got %+v", a)
	}
	if title, want := rep.curveTitle(&a), "kraft at 1k partitions, rolling-restart, trial 1: 78.39 % of 384 produces acknowledged, 0 % in the worst 1 s"; title != want {
		t.Errorf("%q, want %q", title, want)
	}
	b, err := rep.AvailabilityCSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil || len(rows) != 1+2*(7+2) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for row, want := range map[int]string{
		1: "zk.base,zk,1k,rolling-restart,,1,1,0,1000000000,64,64,1,stop of 2", 4: "zk.base,zk,1k,rolling-restart,,1,1,3000000000,1000000000,0,0,,stop of 1",
		5: "zk.base,zk,1k,rolling-restart,,1,1,4000000000,1000000000,64,0,0,stop of 1", 7: "zk.base,zk,1k,rolling-restart,,1,1,6000000000,1000000000,64,60,0.9375,",
	} {
		if got := strings.Join(rows[row], ","); got != want {
			t.Errorf("row %d is %s, want %s", row, got, want)
		}
	}
	checkAgainstSchema(t, mustJSON(t, rep))
}

// TestAvailabilityBounds: an endless trial, one that goes back in time and counts
// that cannot be leave a curve within its bounds, which loses no produce.
func TestAvailabilityBounds(t *testing.T) {
	s := &story{underWay: map[curveKey]*trialCurve{}}
	step := func(at int64, due, acked float64) {
		s.step(results.Event{MonoNs: at, Data: map[string]any{"due": due, "acked": acked, "stepNs": float64(second / 10)}})
	}
	step(100*second, 10, 9)
	step(99*second, 10, 9)
	step(101*second, 10, 11)
	step(101*second, -1, -1)
	step(math.MaxInt64, 10, 10)
	for i := range int64(3 * maxAvailability) {
		step(100*second+i*second/10, 2, 1)
	}
	trial := results.Event{Data: map[string]any{"valid": true, "endNs": float64(0)}}
	s.endCurve(trial)
	s.endCurve(trial) // of which nothing came
	if len(s.curves) != 1 || len(s.curves[0].Due) != 3*maxAvailability/4 || s.curves[0].StepNs != 4*second/10 {
		t.Fatalf("%d curves", len(s.curves))
	}
	if due, acked := s.curves[0].sums(); due != 10+2*3*maxAvailability || acked != 9+3*maxAvailability || s.curves[0].Due[1] != 8 || s.curves[0].Acked[1] != 4 {
		t.Errorf("%d of %d, %d of %d", acked, due, s.curves[0].Acked[1], s.curves[0].Due[1])
	}
	for range 11 {
		step(second, 1, 1)
		step(second+(maxAvailability-1)*second/10, 1, 1)
		s.endCurve(trial)
	}
	if len(s.curves) != 10 || s.curvesMore != 2 {
		t.Errorf("%d curves and %d more", len(s.curves), s.curvesMore)
	}
}

// TestLongCurve: where a bar stands for many seconds it shows the worst of them,
// and every second that was short is in the table or counted.
func TestLongCurve(t *testing.T) {
	rep := mustReport(t, mustOpen(t, rolling(t)))
	a := &Availability{Cell: "zk.base", StepNs: second}
	for i := range 1000 {
		a.Due, a.Acked = append(a.Due, 10), append(a.Acked, 10)
		if i%7 == 3 {
			a.Acked[i] = int64(i % 10)
		}
	}
	bars := rep.sharesOf(a, 48).Bars
	if len(bars) != 48 {
		t.Fatalf("%d bars", len(bars))
	}
	for _, b := range bars {
		for i := int(b.From); i < int(b.To); i++ {
			if share, ok := a.share(i); !ok || share < b.Value {
				t.Errorf("the bar from %v to %v s shows %v, and second %d had %v", b.From, b.To, b.Value, i, share)
			}
		}
	}
	if table := a.table(); len(table.Rows) != 101 || !strings.Contains(table.Caption, fmt.Sprintf("%d more", 143-100)) {
		t.Errorf("%d rows, %q", len(table.Rows), table.Caption)
	}
}

// TestAvailabilityIsTheJSON: what a browser draws is what report.json says.
func TestAvailabilityIsTheJSON(t *testing.T) {
	b := startBrowser(t)
	rep := mustReport(t, mustOpen(t, rolling(t)))
	b.open(t, rep)
	var said struct{ Availability []Availability }
	if err := json.Unmarshal(mustJSON(t, rep), &said); err != nil {
		t.Fatal(err)
	}
	type drawn struct {
		Curve, At                     int
		Value, Left, Height, Of, Lost float64
	}
	bars := eval[[]drawn](t, b, `document.querySelectorAll("#availability details").forEach(d => d.open = true),
		[...document.querySelectorAll("#availability figure")].flatMap((f, i) => [...f.querySelectorAll(".wide .shares")].map(g => {
			const share = g.querySelector(".share"), missing = g.querySelector(".missing"), box = share.getBoundingClientRect();
			const lost = missing ? missing.getBoundingClientRect().height : 0;
			return {Curve: i, At: +share.dataset.at, Value: +share.dataset.value, Left: box.left, Height: box.height, Of: box.height + lost, Lost: lost};
		}))`)
	want := 0
	for _, a := range said.Availability {
		for i := range a.Due {
			if a.Due[i] > 0 {
				want++
			}
		}
	}
	if len(bars) != want || want == 0 {
		t.Fatalf("%d bars are drawn of %d seconds", len(bars), want)
	}
	height := bars[0].Of
	for i, bar := range bars {
		a := said.Availability[bar.Curve]
		if share := float64(a.Acked[bar.At]) / float64(a.Due[bar.At]); bar.Value != share {
			t.Errorf("second %d of curve %d is drawn as %v, report.json says %v", bar.At, bar.Curve, bar.Value, share)
		}
		if math.Abs(bar.Height-bar.Value*height) > 0.5 || math.Abs(bar.Of-height) > 0.5 {
			t.Errorf("second %d of curve %d: %v px of %v and %v px missing, for a share of %v", bar.At, bar.Curve, bar.Height, height, bar.Lost, bar.Value)
		}
		if i > 0 && bars[i-1].Curve == bar.Curve && bar.Left <= bars[i-1].Left {
			t.Errorf("second %d of curve %d is not right of the one before", bar.At, bar.Curve)
		}
	}
	faults := 0
	for _, a := range said.Availability {
		faults += len(a.Faults)
	}
	if shaded := eval[int](t, b, `document.querySelectorAll("#availability .wide .fault-window").length`); shaded != faults || faults == 0 {
		t.Errorf("%d faults are shaded of %d", shaded, faults)
	}
	if over := eval[string](t, b, overflow); over != "" {
		t.Errorf("something is wider than the page: %s", over)
	}
}

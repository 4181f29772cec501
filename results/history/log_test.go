package history

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/simulated"
)

// TestBefore: a night is compared with earlier, valid, comparable nights from
// the last accepted change on.
func TestBefore(t *testing.T) {
	const metric = "recovery.controller.first-admin"
	edits := map[int]func(*simulated.Truth){
		1: func(tr *simulated.Truth) {
			tr.Invalid = func(simulated.Point) string { return "the generator slipped" }
		},
		2: func(tr *simulated.Truth) { tr.Environment = &results.Environment{CPU: "another"} },
		3: func(tr *simulated.Truth) {
			tr.Edit = func(m *results.Manifest) { m.Cells[0].Hash = "another load" }
		},
	}
	l := &Log{}
	var all []*Night
	for i := range 8 {
		tr := truth(i)
		if edit := edits[i]; edit != nil {
			edit(&tr)
		}
		n := night(t, tr)
		all = append(all, n)
		l.Insert(n)
	}
	cell, fig := all[7].Find("zk.base.partitions-1k", "controller-failover", metric)
	before := func(n *Night, most int) []int {
		var out []int
		for _, p := range l.Before(n, cell, fig, most) {
			out = append(out, slices.Index(all, p.Night))
		}
		return out
	}
	check := func(what string, got, want []int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: compared with nights %v, want %v", what, got, want)
		}
	}
	check("last", before(all[7], 0), []int{0, 4, 5, 6})
	check("at most two", before(all[7], 2), []int{5, 6})
	check("middle", before(all[5], 0), []int{0, 4})
	check("first", before(all[0], 0), nil)
	if n := l.Incomparable(all[7], cell, fig); n != 2 {
		t.Errorf("%d incomparable nights", n)
	}

	l.InsertAccept(AcceptNight(all[5], "", "recovery.controller", "timers", "me", first))
	check("accepted", before(all[7], 0), []int{5, 6})
	check("before the accepted run", before(all[5], 0), nil)
	check("an older night", before(all[4], 0), []int{0})
	other, prop := all[7].Find("zk.base.partitions-1k", "propagation", "propagation.last")
	if n := len(l.Before(all[7], other, prop, 0)); n != 4 {
		t.Errorf("an accept of another metric: %d nights", n)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		cell, metric string
		want         bool
	}{
		{"", "", true},
		{"zk.base", "", true},
		{"kraft.base", "", false},
		{"", "recovery.controller", true},
		{"", "recovery.controller.load", true},
		{"", "recovery.controller.l", false},
		{"", "recovery.broker", false},
	} {
		a := Accept{Cell: c.cell, Metric: c.metric}
		if got := a.Covers("zk.base", "recovery.controller.load"); got != c.want {
			t.Errorf("cell %q metric %q covers: %v", c.cell, c.metric, got)
		}
	}
}

// TestAddAccept: an accepted change outlives the file's reading, once.
func TestAddAccept(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	n := night(t, truth(0))
	mustAdd(t, path, n)
	a := AcceptNight(n, "zk.base.partitions-1k", "", "=why, \"so\"", "me", first.Add(time.Hour))
	for range 2 {
		if _, err := AddAccept(path, a); err != nil {
			t.Fatal(err)
		}
	}
	l := mustRead(t, path)
	if len(l.Accepts) != 1 || !l.Accepts[0].same(a) || !l.Accepts[0].RunAt.Equal(n.At) {
		t.Errorf("%+v", l.Accepts)
	}
	if _, err := AddAccept(path, Accept{Run: "another"}); err == nil {
		t.Error("accepted a run that is not there")
	}
}

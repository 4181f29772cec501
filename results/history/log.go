package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Log is a history in memory. The zero Log is empty and ready.
type Log struct {
	Path    string   // the file, empty where there is none
	Nights  []*Night // by instant, then by name
	Accepts []Accept // by the instant of their runs
	Notes   []string // what a user should know, such as a line that a crash cut short

	known map[identity]bool
}

// Insert adds a night in its place. It is false, and changes nothing, where
// the run is there already. The Log keeps the night.
func (l *Log) Insert(n *Night) bool {
	if l.known == nil {
		l.known = make(map[identity]bool)
	}
	if l.known[n.identity()] {
		return false
	}
	l.known[n.identity()] = true
	at, _ := slices.BinarySearchFunc(l.Nights, n, compareNights)
	l.Nights = slices.Insert(l.Nights, at, n)
	return true
}

// InsertAccept adds an accepted change. It is false where the very same is
// there already.
func (l *Log) InsertAccept(a Accept) bool {
	if slices.ContainsFunc(l.Accepts, a.same) {
		return false
	}
	at, _ := slices.BinarySearchFunc(l.Accepts, a, compareAccepts)
	l.Accepts = slices.Insert(l.Accepts, at, a)
	return true
}

func compareNights(a, b *Night) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Digest, b.Digest))
}

func compareAccepts(a, b Accept) int {
	return cmp.Or(a.RunAt.Compare(b.RunAt), a.At.Compare(b.At), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Metric, b.Metric))
}

// Point is one night's value of a figure.
type Point struct {
	Night  *Night
	Cell   *Cell
	Figure *Figure
}

// Before returns the nights that a figure of a night may be compared with, the
// newest last, at most so many (0 means all): the same cell, workload, metric
// and phase, valid, under the same settings and environment, started before
// it, and not before the last accepted change. The night itself need not be in
// the Log.
func (l *Log) Before(n *Night, c *Cell, f *Figure, most int) []Point {
	since := l.Since(n.At, c.ID, f.Name())
	var out []Point
	for i := len(l.Nights) - 1; i >= 0 && (most <= 0 || len(out) < most); i-- {
		old := l.Nights[i]
		if !old.At.Before(n.At) || old.identity() == n.identity() {
			continue
		}
		if old.At.Before(since) {
			break
		}
		oc, of := old.Find(c.ID, f.Workload, f.Name())
		if of == nil || oc.Comparable != c.Comparable {
			continue
		}
		if ok, _ := oc.Usable(of); ok {
			out = append(out, Point{old, oc, of})
		}
	}
	slices.Reverse(out)
	return out
}

// Incomparable counts the earlier nights that measured the figure under other
// settings or in another environment.
func (l *Log) Incomparable(n *Night, c *Cell, f *Figure) int {
	count := 0
	for _, old := range l.Nights {
		if !old.At.Before(n.At) {
			break
		}
		if oc, of := old.Find(c.ID, f.Workload, f.Name()); of != nil && oc.Comparable != c.Comparable {
			count++
		}
	}
	return count
}

// Since is the instant of the last run up to at whose change was accepted for
// a cell's metric.phase, zero where there is none.
func (l *Log) Since(at time.Time, cell, name string) time.Time {
	var since time.Time
	for i := range l.Accepts {
		if a := &l.Accepts[i]; !a.RunAt.After(at) && a.Covers(cell, name) {
			since = a.RunAt
		}
	}
	return since
}

// Lookup finds a run by its name, by name@digest where two machines named runs
// alike, or by the only name that begins so.
func (l *Log) Lookup(name string) (*Night, error) {
	run, digest, exact := strings.Cut(name, "@")
	var same, begin []*Night
	for _, n := range l.Nights {
		switch {
		case n.Run == run && (!exact || strings.HasPrefix(n.Digest, digest)):
			same = append(same, n)
		case !exact && run != "" && strings.HasPrefix(n.Run, run):
			begin = append(begin, n)
		}
	}
	if len(same) == 0 {
		same = begin
	}
	switch len(same) {
	case 1:
		return same[0], nil
	case 0:
		return nil, fmt.Errorf("%s: the history has no run %q; `kbench history list` names them", l.Path, name)
	}
	var names []string
	for _, n := range same[:min(len(same), 3)] {
		names = append(names, n.Run+"@"+n.Digest)
	}
	return nil, fmt.Errorf("%s: %d runs match %q, such as %s; name one of them", l.Path, len(same), name, strings.Join(names, " and "))
}

package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kbench/harness/spec"
	"kbench/results"
)

// Turn is one cluster to build.
type Turn struct {
	Cell   spec.Cell
	Repeat int // of the cell, from 1
	// Uncounted says why nothing of the turn is counted, such as that it warms
	// the machine up; empty where it is counted.
	Uncounted string
}

// Unit is turns that mean something together alone, such as a pair of sides:
// where one is invalid, all of them are run again.
type Unit []Turn

// Matrix is what a run does where nothing else is asked for: every cell of the
// spec as a unit of its own, as often as the spec repeats.
func Matrix(s *spec.Spec) []Unit {
	var out []Unit
	for repeat := 1; repeat <= max(s.Repeats, 1); repeat++ {
		for _, c := range s.Cells() {
			out = append(out, Unit{{Cell: c, Repeat: repeat}})
		}
	}
	return out
}

// matrixOf lists the cells of units, each once.
func matrixOf(units []Unit) []spec.Cell {
	var out []spec.Cell
	for _, t := range slices.Concat(units...) {
		if !slices.ContainsFunc(out, func(c spec.Cell) bool { return c.ID == t.Cell.ID }) {
			out = append(out, t.Cell)
		}
	}
	return out
}

// ranTurn is a turn that is over.
type ranTurn struct {
	Turn
	attempt  int
	cell     results.Cell
	from, to results.Mark
}

// units runs everything that is not done, in order, and keeps how far it came.
// What an interrupt kept from starting is left out.
func (r *runner) units(ctx context.Context, m results.Manifest, units []Unit) []results.Cell {
	n := 0
	r.total = len(slices.Concat(units...))
	r.checkpoint(m, r.done)
	for i, u := range units {
		if ctx.Err() != nil {
			break
		}
		n += len(u)
		if i < r.done {
			r.finished = n
			continue
		}
		whole := r.unit(ctx, &r.book, u, i, n-len(u), r.total)
		if ctx.Err() == nil {
			r.finished = n
			r.checkpoint(m, i+1)
		}
		if err := r.w.Flush(); err != nil {
			r.say("the run ends here, since what comes next could not be kept: " + err.Error())
			break
		}
		if !whole && r.StopAtLoss {
			break
		}
	}
	return r.book.closed()
}

// unit runs the turns of a unit until they are all valid or the retries are
// used up, and reports whether it lost nothing that counts. A turn after an invalid one is not run: it would
// have no partner.
func (r *runner) unit(ctx context.Context, b *book, u Unit, index, n, total int) bool {
	for attempt := 1; ; attempt++ {
		if r.Began != nil {
			r.say(r.Began(index, attempt))
		}
		ran := r.turns(ctx, u, attempt, n, total)
		last := ran[len(ran)-1]
		whole, counted := last.cell.Verdict == results.Valid, u[0].Uncounted == ""
		if whole || !counted || attempt > r.Retries || !r.worthRetry(ctx, last.cell) {
			for _, t := range ran {
				r.settle(b, t, t.Uncounted)
			}
			if whole && counted {
				r.ended(index, ran)
			}
			return whole || !counted
		}
		for _, t := range ran {
			why := "invalid, run again: " + strings.Join(t.cell.Reasons, "; ")
			if t.cell.Verdict == results.Valid {
				why = "its pair was run again"
			}
			r.settle(b, t, why)
		}
		r.say(fmt.Sprintf("%s: run again on a new cluster, retry %d of %d", last.Cell.ID, attempt, r.Retries))
	}
}

// worthRetry: a broken invariant is a finding, which another try must not
// hide; an interrupt ends everything, and so does a folder that takes no more.
func (r *runner) worthRetry(ctx context.Context, c results.Cell) bool {
	return ctx.Err() == nil && !brokeInvariant(c) && r.w.Flush() == nil
}

func brokeInvariant(c results.Cell) bool {
	return slices.ContainsFunc(c.Checks, func(ch results.Check) bool { return !ch.OK })
}

// turns runs the turns of a unit until one is not valid.
func (r *runner) turns(ctx context.Context, u Unit, attempt, n, total int) []ranTurn {
	var out []ranTurn
	for i, t := range u {
		from := r.w.Mark()
		c := r.runCell(ctx, t, attempt, n+i+1, total)
		out = append(out, ranTurn{Turn: t, attempt: attempt, cell: c, from: from, to: r.w.Mark()})
		if c.Verdict != results.Valid {
			break
		}
	}
	return out
}

// settle writes a turn into the book, and takes what it measured out of the
// figures where it is dropped.
func (r *runner) settle(b *book, t ranTurn, dropped string) {
	if dropped == "" {
		b.count(t)
		return
	}
	b.drop(t, dropped)
	err := r.w.Drop(t.from, t.to, fmt.Sprintf("dropped-%d", t.attempt), dropped)
	if err == nil {
		err = r.w.Event(droppedEvent(t, dropped))
	}
	if err != nil {
		b.fault(t, err)
	}
}

func droppedEvent(t ranTurn, why string) results.Event {
	now := newWallClock()
	return results.Event{
		MonoNs: now.monoNs, Wall: now.at(now.monoNs), Cell: t.Cell.ID, Repeat: t.Repeat, Kind: "attempt.dropped",
		Data: map[string]any{"attempt": t.attempt, "reason": why},
	}
}

// ended tells who watches what a whole unit measured.
func (r *runner) ended(index int, ran []ranTurn) {
	if r.Ended == nil {
		return
	}
	samples, err := r.w.Samples(ran[0].from, ran[len(ran)-1].to)
	if err != nil {
		r.say("warning: " + err.Error())
		return
	}
	r.say(r.Ended(index, samples))
}

package harness

import (
	"fmt"

	"kbench/results"
)

// book gathers the cells of a run from their turns, in the order in which they
// first ran.
type book struct {
	cells   []results.Cell
	counted []int // turns, by cell
}

// at finds the cell of a turn, new where it is the first.
func (b *book) at(t ranTurn) int {
	for i, c := range b.cells {
		if c.ID == t.cell.ID {
			return i
		}
	}
	c := t.cell
	c.Verdict, c.Reasons, c.Checks, c.Notes = "", nil, nil, nil
	b.cells, b.counted = append(b.cells, c), append(b.counted, 0)
	return len(b.cells) - 1
}

func (b *book) attempt(i int, t ranTurn, dropped string) {
	b.cells[i].Attempts = append(b.cells[i].Attempts, results.Attempt{
		Repeat: t.Repeat, Number: t.attempt, Started: t.cell.Started, Ended: t.cell.Ended,
		Verdict: t.cell.Verdict, Reasons: t.cell.Reasons, Dropped: dropped,
	})
}

// count adds a turn: a cell is as valid as its worst turn.
func (b *book) count(t ranTurn) {
	i := b.at(t)
	c := &b.cells[i]
	b.attempt(i, t, "")
	if c.Verdict == "" {
		c.Verdict = t.cell.Verdict
	} else {
		c.Verdict = results.Overall([]results.Cell{*c, t.cell})
	}
	b.counted[i]++
	if c.Ended = t.cell.Ended; c.Store == "" {
		c.Store = t.cell.Store
	}
	c.Reasons = append(c.Reasons, t.cell.Reasons...)
	c.Checks = append(c.Checks, t.cell.Checks...)
	c.Notes = append(c.Notes, t.cell.Notes...)
}

// drop keeps that there was a turn. What is wrong in it whatever it was for, a
// broken invariant, makes the cell invalid.
func (b *book) drop(t ranTurn, why string) {
	i := b.at(t)
	c := &b.cells[i]
	b.attempt(i, t, why)
	if t.Uncounted == "" {
		c.Notes = append(c.Notes, fmt.Sprintf("attempt %d of repeat %d is not counted: %s", t.attempt, t.Repeat, why))
	}
	if brokeInvariant(t.cell) {
		c.Verdict = results.Invalid
		c.Checks = append(c.Checks, t.cell.Checks...)
		c.Reasons = append(c.Reasons, t.cell.Reasons...)
	}
}

// fault is what went wrong in keeping a turn.
func (b *book) fault(t ranTurn, err error) {
	c := &b.cells[b.at(t)]
	c.Verdict = results.Invalid
	c.Reasons = append(c.Reasons, err.Error())
}

// closed gives the cells. One of which nothing was counted is inconclusive.
func (b *book) closed() []results.Cell {
	for i := range b.cells {
		if b.counted[i] == 0 && b.cells[i].Verdict == "" {
			b.cells[i].Verdict = results.Inconclusive
			b.cells[i].Reasons = append(b.cells[i].Reasons, "nothing was counted")
		}
	}
	return b.cells
}

package live

import (
	"time"

	"kbench/harness"
)

// priorWeight is how much of the plan's estimate is believed beside what
// finished cells took: cells that took this long count as much as the plan.
const priorWeight = 30 * time.Second

// pace guesses how long a run goes on, from the plan's estimates and from how
// much longer the finished cells took than theirs.
type pace struct {
	plan    Plan
	cell    int           // under way, from 1
	id      string        // its id
	began   time.Duration // when it began
	planned time.Duration // what the plan gave the finished cells
	took    time.Duration // what they took
}

func newPace(plan Plan) pace { return pace{plan: plan} }

func (p *pace) estimate(id string) time.Duration {
	if p.plan.Cell == nil {
		return 0
	}
	return p.plan.Cell(id)
}

// follow notices that a cell is over by the next one's update.
func (p *pace) follow(now harness.Progress, at time.Duration) {
	if now.Cell == p.cell {
		return
	}
	if p.cell > 0 {
		p.planned += p.estimate(p.id)
		p.took += at - p.began
	}
	p.cell, p.id, p.began = now.Cell, now.ID, at
}

// left is the guess; ok is false where nothing is known to guess from. Cells
// that are run again are beyond the plan: they leave the others their time.
func (p *pace) left(now harness.Progress) (d time.Duration, ok bool) {
	if p.plan.Total <= 0 {
		done := now.Cell - 1
		if done < 1 || p.took <= 0 {
			return 0, false
		}
		return max(p.took/time.Duration(done)*time.Duration(now.Cells-done)-now.Elapsed, 0), true
	}
	ratio := float64(p.took+priorWeight) / float64(p.planned+priorWeight)
	current := p.estimate(now.ID)
	scale := func(d time.Duration) time.Duration { return max(time.Duration(float64(d)*ratio), 0) }
	rest := scale(p.plan.Total - p.planned - current)
	if now.Cell >= now.Cells {
		rest = 0
	}
	return rest + max(scale(current)-now.Elapsed, 0), true
}

package plan

import (
	"fmt"
	"strconv"

	"kbench/results"
	"kbench/results/plan/curve"
)

// formula is the chosen candidate in words, with its numbers.
func (l *ladder) formula() string {
	p := l.fit.Parameters()
	each := func(perUnit float64) string { return l.costText(1000*perUnit) + " for each 1,000 partitions" }
	switch l.fit.Chosen {
	case curve.Constant:
		return l.costText(p.Top) + ", whatever the partitions" + l.falling()
	case curve.Linear:
		if p.Offset < 0.01*l.fit.At(l.bottom()).Value {
			return each(p.Slope)
		}
		return fmt.Sprintf("%s and %s", l.costText(p.Offset), each(p.Slope))
	case curve.Power:
		return fmt.Sprintf("%s and a part that grows with the power %s of the partitions", l.costText(p.Offset), strconv.FormatFloat(p.Exponent, 'f', 2, 64))
	case curve.Knee:
		return fmt.Sprintf("%s up to about %s partitions, then %s more", l.costText(p.Offset), count(round(p.Knee, false)), each(p.After))
	default:
		return fmt.Sprintf("%s and %s up to about %s, then %s", l.costText(p.Offset), each(p.Slope), count(round(p.Knee, false)), each(p.After))
	}
}

// costText writes a cost: of a rate, the time that one takes.
func (l *ladder) costText(cost float64) string {
	if l.better == results.Higher {
		return format(cost*1e9, results.Nanoseconds) + " a piece"
	}
	return format(cost, l.unit)
}

// falling says so where the measured cost of the largest rung is under half of
// the smallest's: no candidate falls, and only the interval shows it.
func (l *ladder) falling() string {
	first, last := l.rungs[0].Value, l.rungs[len(l.rungs)-1].Value
	if l.cost(last) > l.cost(first)/2 {
		return ""
	}
	return fmt.Sprintf(" (measured: from %s to %s; no model gets cheaper with the partitions)", format(first, l.unit), format(last, l.unit))
}

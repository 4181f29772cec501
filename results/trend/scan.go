package trend

import "math"

// scan follows a series night by night and remembers what it reported, as
// somebody would who looks at it every morning.
type scan struct {
	rule    Rule
	drawer  drawer
	divider divider
	values  []float64 // what is divided
	changed int       // the first value that changed since the last report
	said    []report  // in the order of nights
}

// report is a change as one night reported it.
type report struct {
	found
	night int // the number of values at that time
}

func newScan(r Rule) *scan { return &scan{rule: r, divider: divider{params: r.Params}} }

// logFloor stands for zero, which has no logarithm: a billionth of a
// nanosecond.
const logFloor = 1e-9

func logOf(v float64) float64 { return math.Log(max(v, logFloor)) }

// expOf undoes logOf; it stays finite.
func expOf(v float64) float64 { return min(math.Exp(v), math.MaxFloat64) }

// append adds a night's value.
func (s *scan) append(v float64) {
	at := len(s.values)
	s.values = append(s.values, v)
	if !s.rule.Plain {
		at = s.drawer.append(logOf(v))
		for i := at; i < len(s.values); i++ {
			s.values[i] = expOf(s.drawer.values[i])
		}
	}
	s.changed = min(s.changed, at)
}

// report gives the changes as of now.
func (s *scan) report() []found {
	s.divider.forget(s.changed)
	splits := s.divider.divide(s.values)
	s.changed = len(s.values)
	out := s.rule.judge(splits, s.logs())
	for _, f := range out {
		if s.recent(f) {
			s.said = append(s.said, report{f, len(s.values)})
		}
	}
	return out
}

// logs are the logarithms of what is divided.
func (s *scan) logs() []float64 {
	if !s.rule.Plain {
		return s.drawer.values
	}
	logs := make([]float64, len(s.values))
	for i, v := range s.values {
		logs[i] = logOf(v)
	}
	return logs
}

// recent reports whether a change can be news still.
func (s *scan) recent(f found) bool { return len(s.values)-f.at <= s.rule.Recent }

// firstSaid is the night that reported a change first, of those that still
// count.
func (s *scan) firstSaid(f found) (night int) {
	for _, r := range s.said {
		if r.night > len(s.values)-s.rule.Recent && f.same(r.found, s.rule.MinNights) {
			return r.night
		}
	}
	return len(s.values)
}

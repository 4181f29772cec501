package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Next is the rung that would tell most about a capacity.
type Next struct {
	Partitions float64 `json:"partitions"`
	// Narrows is the share of the variance of the capacity (of its logarithm)
	// that the measurement would remove, 0 to 1.
	Narrows float64 `json:"narrows"`
	Command string  `json:"command"` // that measures it
}

// steps are the rungs that people choose, between powers of ten.
var steps = []float64{1, 1.5, 2, 3, 5, 7}

// mostAhead is how far beyond the ladder the next rung may lie: farther and
// the step itself would be an extrapolation.
const mostAhead = 2

// next looks for the rung that narrows the capacity most. A capacity within
// the ladder needs none beyond it; one within reach is a candidate itself,
// since a rung there shows it directly.
func (l *ladder) next(s SLO, capacity float64) *Next {
	best := Next{Partitions: round(mostAhead*l.top(), false)}
	most := mostAhead * l.top()
	if capacity >= l.bottom() && capacity <= l.top() {
		most = l.top()
		best.Partitions = round(capacity, false)
	}
	candidates := l.candidates(most)
	if capacity >= l.bottom() && capacity <= most {
		candidates = append(candidates, round(capacity, false))
	}
	for _, n := range candidates {
		measured := slices.ContainsFunc(l.rungs, func(r rungReport) bool { return math.Abs(float64(r.Partitions)/n-1) < 0.1 })
		if measured {
			continue
		}
		if v := l.fit.Informs(n, l.cost(s.Value), farthestBeyond*l.top()); v > best.Narrows {
			best.Partitions, best.Narrows = n, v
		}
	}
	best.Command = l.command(best.Partitions)
	return &best
}

// candidates are the usual rungs from the smallest measured one to most.
func (l *ladder) candidates(most float64) []float64 {
	var out []float64
	for decade := math.Pow(10, math.Floor(math.Log10(l.bottom()))); decade <= most; decade *= 10 {
		for _, s := range steps {
			if n := math.Round(s * decade); n >= l.bottom() && n <= most {
				out = append(out, n)
			}
		}
	}
	return out
}

// command asks for one more rung in the way the latest run of the series was
// made, so that the two can be pooled.
func (l *ladder) command(partitions float64) string {
	return l.series.command("--partitions", specCount(partitions))
}

// command is the command line of the series' latest run with one flag set to
// another value, for the series' target alone.
func (se *series) command(flag, value string) string {
	run := se.cells[len(se.cells)-1].run
	args := run.Manifest.CommandLine
	if len(args) < 2 || args[1] != "run" { // made by another command
		args = []string{"kbench", "run"}
	}
	out := slices.Concat([]string{"kbench", "run"}, without(args[2:], "--partitions", "--targets", "--serve"))
	if flag != "--partitions" {
		var rungs []string
		for _, m := range se.cells {
			if n := specCount(float64(m.cell.Partitions)); !slices.Contains(rungs, n) {
				rungs = append(rungs, n)
			}
		}
		out = append(out, "--partitions", strings.Join(rungs, ","))
	}
	out = append(out, "--targets", se.target, flag, value)
	for i, a := range out {
		out[i] = shellWord(a)
	}
	return strings.Join(out, " ")
}

// without drops flags and their values, in both ways of writing them.
func without(args []string, flags ...string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		if !slices.Contains(flags, name) {
			out = append(out, args[i])
		} else if !joined {
			i++
		}
	}
	return out
}

// shellWord quotes an argument where a shell would not take it literally.
func shellWord(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:@%+", r))
	})
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ParsePartitions reads a number of partitions as specs write it: 50000, 50k,
// 1.5M.
func ParsePartitions(text string) (float64, error) {
	number, scale := text, 1.0
	if head, ok := strings.CutSuffix(text, "k"); ok {
		number, scale = head, 1e3
	} else if head, ok := strings.CutSuffix(text, "M"); ok {
		number, scale = head, 1e6
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= scale
	if err != nil || strings.ContainsAny(number, "xXpPeE+_") || !(v >= 1 && v <= 1e9) || v != math.Trunc(v) {
		return 0, fmt.Errorf("%q is not a number of partitions; write 50000 or 50k, 1 to 1000M", text)
	}
	return v, nil
}

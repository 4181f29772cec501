package plan

import (
	"errors"
	"fmt"
	"strings"

	"kbench/results"
)

// poolable judges whether the rungs of the runs may stand in one ladder: the
// same environment and provider, and workloads that differ in their trials
// alone. Settings may differ: they tell series apart. All faults are listed.
func poolable(runs []*results.Run) error {
	var errs []error
	first := &runs[0].Manifest
	for i, r := range runs[1:] {
		m := &r.Manifest
		for _, c := range []struct{ what, a, b string }{
			{"environment", first.EnvHash, m.EnvHash},
			{"provider", first.Provider, m.Provider},
			{"workloads", workloadsOf(first.SpecYAML), workloadsOf(m.SpecYAML)},
		} {
			if c.a != c.b {
				errs = append(errs, fmt.Errorf("%s and %s cannot be pooled: not the same %s (%s, %s); plan them apart", first.ID, m.ID, c.what, results.OneLine(c.a), results.OneLine(c.b)))
			}
		}
		for _, other := range runs[:i+1] {
			if other.Manifest.ID == m.ID && other.Manifest.Started.Equal(m.Started) {
				errs = append(errs, fmt.Errorf("%s is named twice; each run counts once", m.ID))
			}
		}
	}
	return errors.Join(errs...)
}

// workloadsOf is the part of a normalised spec that says what is done, without
// how often.
func workloadsOf(yaml string) string {
	var out []string
	inside := false
	for line := range strings.Lines(yaml) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !strings.HasPrefix(line, " "):
			inside = strings.HasPrefix(line, "workloads:")
		case inside:
			out = append(out, withoutTrials(strings.TrimSpace(line)))
		}
	}
	return strings.Join(out, "; ")
}

// withoutTrials drops `trials: 3, ` from a workload's line.
func withoutTrials(line string) string {
	head, rest, ok := strings.Cut(line, "trials: ")
	if !ok {
		return line
	}
	end := strings.IndexAny(rest, ",}")
	if end < 0 {
		return line
	}
	if rest[end] == ',' {
		return head + strings.TrimLeft(rest[end+1:], " ")
	}
	return strings.TrimRight(head, ", ") + rest[end:]
}

package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
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
			{"environment", environment(first.Environment, m.Environment), environment(m.Environment, first.Environment)},
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

// environment lists the fields of one environment that are not the same in the
// other.
func environment(e, other results.Environment) string {
	var out []string
	a, b := reflect.ValueOf(e), reflect.ValueOf(other)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			out = append(out, fmt.Sprintf("%s %v", a.Type().Field(i).Name, x))
		}
	}
	return strings.Join(out, ", ")
}

// remark adds what a reader of the numbers must know of the runs.
func (p *Plan) remark(runs []*results.Run, all []*series) {
	say := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(p.Remarks, s) {
			p.Remarks = append(p.Remarks, s)
		}
	}
	for _, se := range all {
		if store := se.config[storePath]; store != "" {
			say("%s: store: %s", se.label, store)
		}
	}
	for _, r := range runs {
		m := &r.Manifest
		if m.Interrupted {
			say("%s was interrupted: what it measured until then is fitted", m.ID)
		}
		if m.Environment.OnMemory() {
			say("%s kept its data on %s: fsync costs nothing there", m.ID, m.Environment.FileSystem)
		}
		if cores := m.Environment.Cores; cores > 0 && m.Observed.Load1 > float64(cores) {
			say("%s began on a busy machine: load %.1f on %d cores", m.ID, m.Observed.Load1, cores)
		}
	}
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

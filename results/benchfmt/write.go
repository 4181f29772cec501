package benchfmt

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"kbench/results"
)

// perSecond is the unit of rates: partitions a second.
const perSecond = "parts/s"

// Write writes every valid value of the run to w.
func Write(w io.Writer, r *results.Run) error {
	figs, err := r.Figures()
	if err != nil {
		return fmt.Errorf("export run %s: %w", r.Manifest.ID, err)
	}
	repeats, err := repeatsOf(r)
	if err != nil {
		return fmt.Errorf("export run %s: %w", r.Manifest.ID, err)
	}
	out := exporter{benchfmt.NewWriter(w), config(r.Manifest), trialsOf(r), repeats}
	if err := errors.Join(head(w, r.Manifest), out.units(figs)); err != nil {
		return fmt.Errorf("export run %s: %w", r.Manifest.ID, err)
	}
	for _, f := range figs {
		cell, ok := validCell(r.Manifest.Cells, f.Cell)
		if !ok {
			continue
		}
		if err := out.figure(cell, f); err != nil {
			return fmt.Errorf("export run %s: %w", r.Manifest.ID, err)
		}
	}
	return nil
}

func validCell(cells []results.Cell, id string) (results.Cell, bool) {
	for _, c := range cells {
		if c.ID == id {
			return c, c.Verdict == results.Valid
		}
	}
	return results.Cell{}, false
}

// key names one phase of one metric of one cell.
type key struct{ cell, workload, metric, phase string }

func keyOf(f results.Figure) key { return key{f.Cell, f.Workload, f.Metric, f.Phase} }

// trialsOf gives the valid values of trials, in their order.
func trialsOf(r *results.Run) map[key][]float64 {
	out := make(map[key][]float64)
	for _, s := range r.Samples {
		m, phase, err := results.FindMetric(s.Metric)
		if err != nil || !s.Valid {
			continue // a Run has no unknown metrics
		}
		k := key{s.Cell, s.Workload, m.Name, phase}
		out[k] = append(out[k], s.Value)
	}
	return out
}

// repeat is what one repeat recorded of a phase.
type repeat struct {
	count       int64
	median, p99 time.Duration
	hasP99      bool
}

func repeatsOf(r *results.Run) (map[key][]repeat, error) {
	out := make(map[key][]repeat)
	err := r.EachRepeat(func(_ int, h results.Histogram) error {
		median, ok := h.Dist.Quantile(50)
		if !ok {
			return nil
		}
		v := repeat{count: h.Dist.Count(), median: median}
		if results.Supports(v.count, 99) {
			v.p99, v.hasP99 = h.Dist.Quantile(99)
		}
		k := key{h.Cell, h.Workload, h.Metric, h.Tag}
		out[k] = append(out[k], v)
		return nil
	})
	return out, err
}

type exporter struct {
	w       *benchfmt.Writer
	config  []benchfmt.Config
	trials  map[key][]float64
	repeats map[key][]repeat
}

// units says of each unit which direction is the better one.
func (e exporter) units(figs []results.Figure) error {
	written := map[string]bool{}
	for _, f := range figs {
		unit := unitOf(f.Unit)
		if written[unit] {
			continue
		}
		written[unit] = true
		m, _, err := results.FindMetric(f.Metric)
		if err != nil {
			return err
		}
		_, tidy := benchunit.Tidy(1, unit)
		err = e.w.Write(&benchfmt.UnitMetadata{
			UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: tidy, Key: "better"}, OrigUnit: unit, Value: string(m.Better),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func unitOf(u results.Unit) string {
	switch u {
	case results.PerSecond:
		return perSecond
	case results.Number:
		return "number/op"
	case results.Bytes:
		return "B/op"
	}
	return "ns/op"
}

func (e exporter) figure(cell results.Cell, f results.Figure) error {
	name := nameOf(cell, f)
	if !f.Histogram {
		for _, v := range e.trials[keyOf(f)] {
			if err := e.line(name, 1, v, unitOf(f.Unit)); err != nil {
				return err
			}
		}
		return nil
	}
	all := e.repeats[keyOf(f)]
	for _, v := range all {
		if err := e.line(name+"/stat=median", v.count, float64(v.median), unitOf(f.Unit)); err != nil {
			return err
		}
	}
	for _, v := range all {
		if !v.hasP99 {
			continue
		}
		if err := e.line(name+"/stat=p99", v.count, float64(v.p99), unitOf(f.Unit)); err != nil {
			return err
		}
	}
	return nil
}

func (e exporter) line(name string, iters int64, value float64, unit string) error {
	tidied, tidy := benchunit.Tidy(value, unit)
	return e.w.Write(&benchfmt.Result{
		Config: e.config, Name: benchfmt.Name(name), Iters: int(iters),
		Values: []benchfmt.Value{{Value: tidied, Unit: tidy, OrigValue: value, OrigUnit: unit}},
	})
}

// nameOf names a figure as benchmarks are: a base name and key=value parts.
// The phase, or the statistic after it, stands last: a name that ends in a
// dash and digits would be taken for a number of processors.
func nameOf(c results.Cell, f results.Figure) string {
	var b strings.Builder
	b.WriteString(camel(f.Metric))
	part := func(key, value string) { fmt.Fprintf(&b, "/%s=%s", key, escape(value)) }
	part("target", c.Target)
	part("variant", c.Variant)
	if len(c.Point) == 0 {
		part("partitions", strconv.Itoa(c.Partitions))
	}
	for _, p := range c.Point {
		part(escape(strings.TrimPrefix(p.Axis, "cluster.")), p.Value)
	}
	if m, _, err := results.FindMetric(f.Metric); err != nil || m.Workload != f.Workload {
		part("workload", f.Workload)
	}
	part("phase", f.Phase)
	return b.String()
}

// camel makes RecoveryController of recovery.controller.
func camel(metric string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(metric, func(r rune) bool { return r == '.' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// escape writes what would break a name or a line as %XX of its bytes.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '/' || r == '=' || r == '%' || r == unicode.ReplacementChar || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

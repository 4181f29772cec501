package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"kbench/results"
)

// csvPercentiles are the columns of percentiles; empty where n does not
// support one.
var csvPercentiles = []results.Stat{"p90", "p95", "p99", "p99.9", "p99.99"}

// CSV is every figure as one row, in ns or per second: RFC 4180, with text
// that a spreadsheet would run as a formula neutralised.
func (rep *Report) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	head := []string{"cell", "side", "point", "workload", "how", "metric", "phase", "headline", "unit", "n", "repeats", "invalid", "min", "median", "max", "median_lo", "median_hi"}
	for _, p := range csvPercentiles {
		head = append(head, string(p))
	}
	err := w.Write(head)
	guard := func(s string) string { return results.GuardFormula(results.OneLine(s)) }
	for i := 0; i < len(rep.Figures) && err == nil; i++ {
		f := &rep.Figures[i]
		row := []string{
			guard(f.Cell), guard(rep.side(f.Cell)), guard(rep.point(f.Cell)), guard(f.Workload), guard(rep.How[f.Workload]), f.Metric, f.Phase,
			strconv.FormatBool(f.Headline), string(f.Unit), strconv.FormatInt(f.N, 10), strconv.Itoa(f.Repeats), strconv.FormatInt(f.Invalid, 10),
		}
		for _, v := range []*float64{value(f, results.StatMin), value(f, results.StatMedian), value(f, results.StatMax), f.MedianLo, f.MedianHi} {
			row = append(row, csvNumber(v))
		}
		for _, p := range csvPercentiles {
			row = append(row, csvNumber(value(f, p)))
		}
		err = w.Write(row)
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("make the CSV: %w", err)
	}
	return b.Bytes(), nil
}

func value(f *results.Figure, s results.Stat) *float64 {
	if v, ok := f.Value(s); ok {
		return &v
	}
	return nil
}

func csvNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

// AvailabilityCSV is every step of every availability curve as one row, as CSV
// writes: when it began within its trial, how wide it is, how many produces were
// due in it, how many of them were acknowledged, and which faults there were.
func (rep *Report) AvailabilityCSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	err := w.Write([]string{"cell", "side", "point", "workload", "how", "repeat", "trial", "at_ns", "step_ns", "due", "acked", "share", "faults"})
	guard := func(s string) string { return results.GuardFormula(results.OneLine(s)) }
	for i := range rep.Availability {
		a := &rep.Availability[i]
		for k := 0; k < len(a.Due) && err == nil; k++ {
			share := ""
			if v, ok := a.share(k); ok {
				share = strconv.FormatFloat(v, 'f', -1, 64)
			}
			err = w.Write([]string{
				guard(a.Cell), guard(rep.side(a.Cell)), guard(rep.point(a.Cell)), guard(a.Workload), guard(rep.How[a.Workload]), strconv.Itoa(a.Repeat), strconv.Itoa(a.Trial),
				strconv.FormatInt(int64(k)*a.StepNs, 10), strconv.FormatInt(a.StepNs, 10), strconv.FormatInt(a.Due[k], 10), strconv.FormatInt(a.Acked[k], 10), share, guard(a.faultsIn(k)),
			})
		}
	}
	w.Flush()
	if err = cmp.Or(err, w.Error()); err != nil {
		return nil, fmt.Errorf("make the CSV: %w", err)
	}
	return b.Bytes(), nil
}

// faultsIn names the faults under way in a step.
func (a *Availability) faultsIn(i int) string {
	var out []string
	for _, f := range a.Faults {
		if f.FromNs < int64(i+1)*a.StepNs && max(f.ToNs, f.FromNs+1) > int64(i)*a.StepNs {
			out = append(out, f.How+" of "+f.Node)
		}
	}
	return strings.Join(out, "; ")
}

package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

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

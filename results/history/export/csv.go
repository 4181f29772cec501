package export

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"kbench/results"
	"kbench/results/history"
)

// night is a row: what every series of one run has in common.
type night struct {
	at          time.Time
	run, digest string
	commit      string
}

// CSV writes one row for each night and one column for each series, after
// time, commit and run: what Apache Otava imports with time_column "time" and
// attributes "commit" and "run". Values are medians in ns or 1/s. Such tools
// know no gaps, so that a night without a valid value in every column is left
// out. It returns how many rows there are and how many nights are left out.
func CSV(w io.Writer, series []history.Series) (rows, left int, err error) {
	var nights []night
	values := make([]map[night]float64, len(series))
	for i, s := range series {
		values[i] = make(map[night]float64)
		for _, r := range s.Readings {
			n := night{at: r.At, run: r.Run, digest: r.Digest, commit: r.Commit}
			nights = append(nights, n)
			if r.Why == "" && r.N > 0 {
				values[i][n] = r.Median
			}
		}
	}
	slices.SortFunc(nights, func(a, b night) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return slices.Compare([]string{a.run, a.digest}, []string{b.run, b.digest})
	})
	nights = slices.Compact(nights)
	cw := csv.NewWriter(w)
	errs := []error{cw.Write(append([]string{"time", "commit", "run"}, columns(series)...))}
	for _, n := range nights {
		row := []string{n.at.Format(time.RFC3339), results.GuardFormula(n.commit), results.GuardFormula(n.run)}
		for i := range series {
			if v, ok := values[i][n]; ok {
				row = append(row, strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
		if len(row) != 3+len(series) {
			left++
			continue
		}
		errs = append(errs, cw.Write(row))
		rows++
	}
	cw.Flush()
	if err := errors.Join(append(errs, cw.Error())...); err != nil {
		return rows, left, fmt.Errorf("export the history: %w", err)
	}
	return rows, left, nil
}

// columns names the series. Two of one figure, which differ in settings or
// environment, are told apart by what makes them comparable.
func columns(series []history.Series) []string {
	var out []string
	seen := make(map[string]bool)
	for _, s := range series {
		name := s.Cell + "." + s.Name()
		if m, _, err := results.FindMetric(s.Name()); err == nil && m.Workload != s.Workload {
			name += "(" + s.Workload + ")"
		}
		if seen[name] {
			name += "@" + s.Comparable
		}
		seen[name] = true
		out = append(out, results.GuardFormula(results.OneLine(name)))
	}
	return out
}

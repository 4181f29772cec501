package compare

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"kbench/results"
)

// csvHeader names the columns of the CSV form: a line for each side of a row
// but the base, against the base. Values are in the unit's own size, ns or
// 1/s; an empty field is a value that there is not.
var csvHeader = []string{
	"target", "variant", "point", "partitions", "workload", "metric", "phase", "stat", "unit", "better", "headline",
	"base", "base_n", "base_value", "base_lo", "base_hi", "side", "side_n", "side_value", "side_lo", "side_hi",
	"ratio", "ratio_lo", "ratio_hi", "p", "p_adjusted", "verdict", "needs_n", "best",
}

// CSV is RFC 4180 with CRLF; no cell is a formula.
func (c *Comparison) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	if err := w.Write(csvHeader); err != nil {
		return nil, err
	}
	guard := results.GuardFormula
	for _, r := range c.Rows {
		for _, ch := range r.Changes {
			row := []string{
				guard(r.Target), guard(r.Variant), guard(r.Point), strconv.Itoa(r.Partitions), guard(r.Workload), r.Metric, r.Phase, r.Stat,
				string(r.Unit), string(r.Better), strconv.FormatBool(r.Headline),
			}
			for _, side := range []int{0, ch.Side} {
				v := r.Values[side]
				row = append(row, guard(c.Sides[side].Name), strconv.Itoa(v.N), field(&v.Center), field(v.Lo), field(v.Hi))
			}
			needs := ""
			if ch.Needs > 0 {
				needs = strconv.Itoa(ch.Needs)
			}
			best := r.Best != nil && *r.Best == ch.Side
			row = append(row, field(ch.Ratio), field(ch.Lo), field(ch.Hi), field(ch.P), field(ch.Adjusted), string(ch.Verdict), needs, strconv.FormatBool(best))
			if err := w.Write(row); err != nil {
				return nil, err
			}
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func field(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

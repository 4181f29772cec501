package trend

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"kbench/results"
)

// The report as JSON. Values are in the series' unit: ns or 1/s.
type reportJSON struct {
	Format  string       `json:"format"` // "kbench-trend"
	Version int          `json:"version"`
	History string       `json:"history"`
	Method  string       `json:"method"` // kbench or otava
	Window  int          `json:"window"`
	MaxP    float64      `json:"maxP"`
	MinMag  float64      `json:"minMagnitude"`
	AlertP  float64      `json:"alertP,omitempty"`
	Alerts  int          `json:"alerts"`
	Ended   int          `json:"ended"`
	Series  []seriesJSON `json:"series"`
	Notes   []string     `json:"notes"`
}

type seriesJSON struct {
	Cell      string       `json:"cell"`
	Target    string       `json:"target"`
	Variant   string       `json:"variant"`
	Workload  string       `json:"workload"`
	Metric    string       `json:"metric"` // metric.phase
	Unit      results.Unit `json:"unit"`
	Level     *float64     `json:"level"`  // null where no night was used
	Spread    *float64     `json:"spread"` // standard deviation of the nights' logarithms; null where they are too few
	Elsewhere int          `json:"elsewhere"`
	Nights    []nightJSON  `json:"nights"`
	Changes   []changeJSON `json:"changes"`
	Accepted  []acceptJSON `json:"accepted"`
}

type nightJSON struct {
	Run    string    `json:"run"`
	At     time.Time `json:"at"`
	Commit string    `json:"commit,omitempty"`
	Median *float64  `json:"median"` // null where nothing valid was measured
	N      int64     `json:"n"`
	Use    Use       `json:"use"`
	Why    string    `json:"why,omitempty"`
	Apart  float64   `json:"apart,omitempty"` // by how much its repeats differ
}

type changeJSON struct {
	Night  int        `json:"night"` // index into nights
	Run    string     `json:"run"`
	At     time.Time  `json:"at"`
	Before float64    `json:"before"`
	After  float64    `json:"after"`
	Ratio  float64    `json:"ratio"`
	P      float64    `json:"p"`
	State  State      `json:"state"`
	Worse  bool       `json:"worse"`
	Since  *time.Time `json:"since,omitempty"`
}

type acceptJSON struct {
	Run    string    `json:"run"`
	RunAt  time.Time `json:"runAt"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"`
}

// JSON is the report for programs.
func (r *Report) JSON() ([]byte, error) {
	out := reportJSON{
		Format: "kbench-trend", Version: 1, History: r.History, Method: "kbench", Window: r.Rule.Window, MaxP: r.Rule.MaxP,
		MinMag: r.Rule.MinMagnitude, AlertP: r.Rule.AlertP, Alerts: r.Alerts(), Ended: r.Ended,
		Series: []seriesJSON{}, Notes: append([]string{}, r.Notes...),
	}
	if r.Rule.Plain {
		out.Method, out.AlertP = "otava", 0
	}
	for i := range r.Analyses {
		out.Series = append(out.Series, r.Analyses[i].json())
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the trend: %w", err)
	}
	return append(b, '\n'), nil
}

func (a *Analysis) json() seriesJSON {
	out := seriesJSON{
		Cell: a.Cell, Target: a.Target, Variant: a.Variant, Workload: a.Workload, Metric: a.Name(), Unit: a.Unit, Elsewhere: a.Elsewhere,
		Nights: []nightJSON{}, Changes: []changeJSON{}, Accepted: []acceptJSON{},
	}
	if v, ok := a.level(); ok {
		out.Level = &v
	}
	if !math.IsNaN(a.Spread) {
		out.Spread = &a.Spread
	}
	for i := range a.Points {
		p := &a.Points[i]
		n := nightJSON{Run: p.Run, At: p.At, Commit: p.Commit, N: p.N, Use: p.Use, Why: p.Why, Apart: p.Apart}
		if p.N > 0 {
			n.Median = &p.Median
		}
		out.Nights = append(out.Nights, n)
	}
	for _, c := range a.Changes {
		p := &a.Points[c.Point]
		v := changeJSON{
			Night: c.Point, Run: p.Run, At: p.At, Before: c.Before, After: c.After, Ratio: c.Ratio, P: c.P, State: c.State, Worse: c.Worse,
		}
		if math.IsNaN(v.P) {
			v.P = 1
		}
		if !c.Since.IsZero() {
			v.Since = &c.Since
		}
		out.Changes = append(out.Changes, v)
	}
	for _, acc := range a.Accepts {
		out.Accepted = append(out.Accepted, acceptJSON{acc.Run, acc.RunAt, acc.At, acc.Reason, acc.By})
	}
	return out
}

// CSV lists the changes, one a row, after RFC 4180.
func (r *Report) CSV() (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	rows := [][]string{{"cell", "workload", "metric", "unit", "run", "at", "commit", "before", "after", "ratio", "p", "state", "verdict"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i := range r.Analyses {
		a := &r.Analyses[i]
		for j := range a.Changes {
			c := &a.Changes[j]
			p := &a.Points[c.Point]
			rows = append(rows, []string{
				results.GuardFormula(a.Cell), results.GuardFormula(a.Workload), a.Name(), string(a.Unit), results.GuardFormula(p.Run),
				p.At.Format(time.RFC3339), results.GuardFormula(p.Commit), number(c.Before), number(c.After), number(c.Ratio), number(c.P),
				string(c.State), verdict(c),
			})
		}
	}
	if err := w.WriteAll(rows); err != nil {
		return "", fmt.Errorf("write the trend: %w", err)
	}
	return b.String(), nil
}

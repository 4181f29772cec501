package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/history"
)

func newHistoryShow() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show RUN|CELL",
		Short: "Show what a run measured, or a cell over all runs",
		Long: `Show prints every figure of one run, or the headline figures of one cell in
every run. RUN is a name of ` + "`kbench history list`" + `, its beginning where only one
begins so, or name@digest where two machines named runs alike; CELL is the name
of a cell, such as kraft.base.partitions-10k.`,
		Example: "  kbench history show 20260301T020000Z-nightly\n  kbench history show kraft.base.partitions-10k --format csv",
		Args:    exactly(1, "a run or a cell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, gridFormats); err != nil {
				return err
			}
			l, err := readHistoryLog(cmd)
			if err != nil {
				return err
			}
			n, err := l.Lookup(args[0])
			if err != nil {
				if cells := cellNames(l); slices.Contains(cells, args[0]) {
					return showCell(cmd, l, args[0], format)
				} else if s := didYouMean(args[0], cells, ""); s != "" {
					err = fmt.Errorf("%w; or %s", err, s)
				}
				return badInput(err)
			}
			if format == "json" {
				return writeJSON(cmd.OutOrStdout(), n)
			}
			return showNight(cmd, n, format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "form of the output: text, json, csv or md")
	return cmd
}

func cellNames(l *history.Log) []string {
	var names []string
	for _, n := range l.Nights {
		for i := range n.Cells {
			if id := n.Cells[i].ID; !slices.Contains(names, id) {
				names = append(names, id)
			}
		}
	}
	return names
}

func showNight(cmd *cobra.Command, n *history.Night, format string) error {
	w := cmd.OutOrStdout()
	if format == "text" {
		if err := printText(w, nightHead(n)); err != nil {
			return err
		}
	}
	g := grid{head: []string{"cell", "metric", "n", "invalid", "min", "median", "max", "interval", "note"}, drop: []string{"min", "max"}}
	for i := range n.Cells {
		c := &n.Cells[i]
		for j := range c.Figures {
			f := &c.Figures[j]
			_, why := c.Usable(f)
			g.add(c.ID, f.Name(), strconv.FormatInt(f.N, 10), strconv.FormatInt(f.Invalid, 10), valueOf(f, f.Min), valueOf(f, f.Median), valueOf(f, f.Max), intervalOf(f), why)
		}
	}
	return g.write(w, format)
}

// nightHead says what a run is, and its warnings, a line each.
func nightHead(n *history.Night) string {
	out := fmt.Sprintf("%s@%s: %s, started %s", results.OneLine(n.Run), n.Digest, results.OneLine(n.Spec), n.Started.Format(time.RFC3339))
	if n.Commit != "" {
		out += ", commit " + results.OneLine(n.Commit)
	}
	out += ", " + string(n.Verdict) + "\n"
	for _, warning := range n.Warnings {
		out += "warning: " + results.OneLine(warning) + "\n"
	}
	return out
}

func valueOf(f *history.Figure, v float64) string {
	if f.N == 0 {
		return "n/a"
	}
	return results.FormatValue(v, f.Unit)
}

func intervalOf(f *history.Figure) string {
	if f.MedianLo == nil || f.MedianHi == nil {
		return "n/a"
	}
	return results.FormatValue(*f.MedianLo, f.Unit) + " to " + results.FormatValue(*f.MedianHi, f.Unit)
}

// cellNight is one figure of a cell in one night.
type cellNight struct {
	Run        string          `json:"run"`
	Started    time.Time       `json:"started"`
	Comparable string          `json:"comparable"`
	Verdict    results.Verdict `json:"verdict"`
	*history.Figure
}

func showCell(cmd *cobra.Command, l *history.Log, id, format string) error {
	g := grid{head: []string{"run", "started", "metric", "n", "median", "interval", "comparable", "note"}, drop: []string{"started", "comparable"}}
	list := []cellNight{}
	for _, n := range l.Nights {
		for i := range n.Cells {
			c := &n.Cells[i]
			for j := range c.Figures {
				f := &c.Figures[j]
				if c.ID != id || !f.Headline {
					continue
				}
				_, why := c.Usable(f)
				g.add(n.Run, n.Started.Format(time.RFC3339), f.Name(), strconv.FormatInt(f.N, 10), valueOf(f, f.Median), intervalOf(f), c.Comparable, why)
				list = append(list, cellNight{n.Run, n.Started, c.Comparable, c.Verdict, f})
			}
		}
	}
	if format == "json" {
		return writeJSON(cmd.OutOrStdout(), list)
	}
	return g.write(cmd.OutOrStdout(), format)
}

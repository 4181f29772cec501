package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/benchfmt"
	"kbench/results/history"
	"kbench/results/history/export"
)

const exportLong = `Export writes the history, or the runs that are named, for other programs:

  bench  Go benchmark format: every valid value of each run, for benchstat
  csv    a row for each night, a column for each headline figure, for Apache
         Otava and other change-point tools (time, commit, run, medians in ns or
         1/s); nights without a valid value in every column are left out, so
         name one spec where the history holds several (--spec)
  prom   gauges of the last night of each series, for Prometheus' textfile
         collector

An export without a single row ends with exit code 3.`

func newHistoryExport() *cobra.Command {
	var format, metric, cell, spec string
	formats := []string{"bench", "csv", "prom"}
	cmd := &cobra.Command{
		Use:     "export [RUN...]",
		Short:   "Write the history for other programs",
		Long:    exportLong,
		Example: "  kbench history export --format csv --spec nightly --metric recovery.controller > trend.csv\n  kbench history export --format bench 20260301T020000Z-nightly > old.txt\n  kbench history export --format prom > /var/lib/node_exporter/kbench.prom",
		RunE: func(cmd *cobra.Command, args []string) error {
			if format == "" {
				return badInput(errors.New("--format is missing; there are bench, csv and prom"))
			}
			if err := checkFormat(format, formats); err != nil {
				return err
			}
			if metric != "" {
				if _, _, err := results.FindMetric(metric); err != nil {
					return badInput(fmt.Errorf("--metric: %w", err))
				}
			}
			l, err := readHistoryLog(cmd)
			if err != nil {
				return err
			}
			if l, err = onlyRuns(l, args); err != nil {
				return badInput(err)
			}
			if l, err = onlySpec(l, spec); err != nil {
				return badInput(err)
			}
			return exportHistory(cmd, l, format, metric, cell)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "bench, csv or prom (needed)")
	cmd.Flags().StringVar(&metric, "metric", "", "only this metric (its headline) or metric.phase; not for bench")
	cmd.Flags().StringVar(&spec, "spec", "", "only runs of the spec of this name")
	cmd.Flags().StringVar(&cell, "cell", "", "only this cell; not for bench")
	return cmd
}

// onlyRuns keeps the runs that are named; none means all.
func onlyRuns(l *history.Log, names []string) (*history.Log, error) {
	if len(names) == 0 {
		return l, nil
	}
	out := &history.Log{Path: l.Path}
	var errs []error
	for _, name := range names {
		n, err := l.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out.Insert(n)
	}
	return out, errors.Join(errs...)
}

// onlySpec keeps the runs of one spec; no name means all.
func onlySpec(l *history.Log, name string) (*history.Log, error) {
	if name == "" {
		return l, nil
	}
	out := &history.Log{Path: l.Path}
	var specs []string
	for _, n := range l.Nights {
		if n.Spec == name {
			out.Insert(n)
		} else if !slices.Contains(specs, n.Spec) {
			specs = append(specs, n.Spec)
		}
	}
	if len(out.Nights) == 0 {
		return nil, fmt.Errorf("--spec %s: no run is of this spec; %s", name, didYouMean(name, specs, "`kbench history list` shows them"))
	}
	return out, nil
}

func exportHistory(cmd *cobra.Command, l *history.Log, format, metric, cell string) error {
	var b bytes.Buffer
	if format == "bench" {
		for _, n := range l.Nights {
			r, err := n.ToRun()
			if err != nil {
				return badInput(err)
			}
			if err := benchfmt.Write(&b, r); err != nil {
				return err
			}
		}
	} else if err := exportSeries(cmd, &b, l, format, metric, cell); err != nil {
		return err
	}
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

func exportSeries(cmd *cobra.Command, b *bytes.Buffer, l *history.Log, format, metric, cell string) error {
	var picked []history.Series
	for _, s := range l.Series() {
		wanted := s.Headline
		if metric != "" {
			m, phase, _ := results.FindMetric(metric) // it was judged before
			wanted = s.Metric == m.Name && s.Phase == phase
		}
		if wanted && (cell == "" || cell == s.Cell) {
			picked = append(picked, s)
		}
	}
	if len(picked) == 0 {
		return badInput(errors.New("nothing to export: no figure of the history is what --metric and --cell name"))
	}
	if format == "prom" {
		return export.Prometheus(b, picked)
	}
	rows, left, err := export.CSV(b, picked)
	if err != nil {
		return err
	}
	if rows == 0 {
		return &exitError{code: exitInvalid, err: fmt.Errorf("no row: none of %d nights has a valid value in each of %d columns; name one spec, metric or cell (--spec, --metric, --cell)", left, len(picked))}
	}
	if left > 0 {
		tell(cmd, []string{fmt.Sprintf("%d nights without a valid value in every column are left out; fewer columns (--metric, --cell) leave fewer out", left)})
	}
	return nil
}

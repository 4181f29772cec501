package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/columns"
	"kbench/results/history"
	"kbench/results/trend"
)

const trendLong = `Trend looks for nights from which a figure's level is another: E-divisive with
Student's t over windows of 50 nights, p 0.001, at least 5 % (--magnitude).
That is --method otava, exactly as Apache Otava has it. The default adds a rule
that keeps the false alarms of 20 series under one in 200 nights and finds a
step of 10 % under 5 % noise within 4 nights in 91 of 100: single outliers are
drawn in, three nights must stand on either side, nights that resemble their
neighbours count for fewer, and all series share one error budget.

A change is NEW in the night that reports it first (--nights N: in the last N),
then OPEN while it is recent, then PAST; accepted changes begin a series anew.
Alerts never fail a build by themselves: --fail-on-alert makes the exit code 1.

Invalid nights are shown and not used. A spec with "repeats: 2" measures every
cell twice a night, which is an A/A pair: where the two differ by more than half
the magnitude, and not by the chance of their trials, the night is noisy and not
used. Only headline figures are watched; --metric and --all look at others.`

type trendFlags struct {
	metric, cell, method, magnitude, format string
	svg, html                               string
	all, fail                               bool
	nights                                  int
}

var trendFormats = []string{"text", "json", "csv", "md", "html", "svg"}

func newHistoryTrend() *cobra.Command {
	var f trendFlags
	cmd := &cobra.Command{
		Use:     "trend",
		Short:   "Find the nights that changed a figure's level",
		Long:    trendLong,
		Example: "  kbench history trend\n  kbench history trend --fail-on-alert --html trend.html\n  kbench history trend --metric recovery.controller.load --cell kraft.base.partitions-10k --method otava",
		Args:    atMost(0, "no words"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runTrend(cmd, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.metric, "metric", "", "watch this metric (its headline) or metric.phase alone")
	fl.StringVar(&f.cell, "cell", "", "watch this cell alone")
	fl.BoolVar(&f.all, "all", false, "every phase, and series that other settings or environments ended")
	fl.StringVar(&f.method, "method", "kbench", "kbench, or otava for E-divisive alone")
	fl.StringVar(&f.magnitude, "magnitude", "5%", "smallest change that counts")
	fl.IntVar(&f.nights, "nights", 1, "a change is new if the last N nights reported it first")
	fl.BoolVar(&f.fail, "fail-on-alert", false, "exit 1 where there is a new change")
	fl.StringVar(&f.format, "format", "text", "form of the output: text, json, csv, md, html or svg")
	fl.StringVar(&f.svg, "svg", "", "write the charts to this file too")
	fl.StringVar(&f.html, "html", "", "write a page with the charts to this file too")
	return cmd
}

func runTrend(cmd *cobra.Command, f trendFlags) error {
	rule, err := f.rule()
	if err != nil {
		return err
	}
	path, err := historyPath(cmd)
	if err != nil {
		return err
	}
	l, err := history.Load(path)
	if err != nil {
		return badInput(err)
	}
	if err := f.known(l); err != nil {
		return badInput(err)
	}
	tell(cmd, l.Notes)
	rep, err := trend.NewReport(l, trend.Watch{Metric: f.metric, Cell: f.cell, All: f.all}, rule)
	if err != nil {
		return badInput(err)
	}
	b, err := trendForm(rep, f.format, widthOf(cmd.OutOrStdout()))
	if err != nil {
		return err
	}
	if _, err := cmd.OutOrStdout().Write(b); err != nil {
		return err
	}
	if err := f.files(rep); err != nil {
		return err
	}
	switch {
	case len(rep.Analyses) == 0:
		return &exitError{code: exitInvalid}
	case f.fail && rep.Alerts() > 0:
		return &exitError{code: exitMissed}
	}
	return nil
}

// rule reads the flags; every fault is the user's.
func (f trendFlags) rule() (trend.Rule, error) {
	r := trend.DefaultRule()
	if err := checkFormat(f.format, trendFormats); err != nil {
		return r, err
	}
	methods := []string{"kbench", "otava"}
	switch f.method {
	case "otava":
		r.Plain = true
	case "kbench":
	default:
		return r, badInput(fmt.Errorf("--method %s: unknown; %s", f.method, didYouMean(f.method, methods, "there are "+strings.Join(methods, ", "))))
	}
	number, ok := strings.CutSuffix(f.magnitude, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || math.IsNaN(v) || v < 0 || v > 500 {
		return r, badInput(fmt.Errorf("--magnitude %s: not a percentage of 0%% to 500%%; write 5%%", f.magnitude))
	}
	r.MinMagnitude = v / 100
	if f.nights < 1 || f.nights > r.Recent {
		return r, badInput(fmt.Errorf("--nights %d: write 1 to %d", f.nights, r.Recent))
	}
	r.News = f.nights
	if f.metric != "" {
		if _, _, err := results.FindMetric(f.metric); err != nil {
			return r, badInput(fmt.Errorf("--metric: %w", err))
		}
	}
	return r, nil
}

// known judges --cell.
func (f trendFlags) known(l history.Loaded) error {
	if f.cell == "" {
		return nil
	}
	var cells []string
	for _, s := range l.Series {
		if s.Cell == f.cell {
			return nil
		}
		cells = append(cells, s.Cell)
	}
	return fmt.Errorf("--cell %s: the history has no such cell; %s", f.cell, didYouMean(f.cell, cells, "`kbench history show RUN` lists them"))
}

func trendForm(r *trend.Report, format string, w columns.Width) ([]byte, error) {
	switch format {
	case "json":
		return r.JSON()
	case "csv":
		text, err := r.CSV()
		return []byte(text), err
	case "md":
		return []byte(r.Markdown()), nil
	case "html":
		return []byte(r.HTML()), nil
	case "svg":
		return []byte(r.SVG()), nil
	default:
		return []byte(columns.Fit(r.Text(), w)), nil
	}
}

func (f trendFlags) files(r *trend.Report) error {
	for path, form := range map[string]func() string{f.svg: r.SVG, f.html: r.HTML} {
		if path == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(form()), 0o644); err != nil {
			return badInput(fmt.Errorf("write the charts: %w", err))
		}
	}
	return nil
}

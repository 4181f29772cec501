package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/columns"
	"kbench/results/plan"
)

const planLong = `Plan fits how each metric grows with the partitions of the cluster and answers
how many a service level objective allows, with a 95 % interval that holds what
is not known about the model too. It needs at least 3 measured rungs; 6 or more
tell a bend from a line. Several run folders are pooled where their environment
and workloads are the same.

An objective is a threshold of a spec; its statistic may be left out and is
then the median. Beyond the largest measured rung the answer says how far, and
farther than 4 times only with --extrapolate. --what-if answers for another
value of an axis that the runs swept, and refuses one that they did not.

Exit codes: 0 answered, 1 an objective is missed at the smallest rung, or the
lower end of an interval is under --need, 2 bad input, 3 no answer: too few
rungs, values or valid cells.`

// planFlags are the flags of kbench plan, as written.
type planFlags struct {
	slos, whatIf []string
	need         string
	extrapolate  bool
	format, svg  string
}

var planFormats = []string{"text", "md", "json"}

func newPlan() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan RUN...",
		Short: "Say how many partitions an objective allows",
		Long:  planLong,
		Example: `  kbench plan kbench-results/latest --slo 'recovery.controller<10s'
  kbench plan ladder-a ladder-b --slo 'zk: recovery.controller.max < 10s' --need 50k
  kbench plan sweep --slo 'controlled-shutdown < 5s' --what-if brokers=6 --format md --svg plan.svg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badInput(fmt.Errorf("%s takes run folders, got none; see `%s --help`", cmd.CommandPath(), cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.slos, "slo", nil, "objective, such as 'recovery.controller<10s' (repeatable)")
	fl.StringVar(&f.need, "need", "", "partitions that must be held, such as 50k: exit code 1 where they are not shown to be")
	fl.StringArrayVar(&f.whatIf, "what-if", nil, "answer for another value of an axis, such as brokers=6 (repeatable)")
	fl.BoolVar(&f.extrapolate, "extrapolate", false, "answer farther than 4 times beyond the largest measured rung, up to 100 times")
	fl.StringVar(&f.format, "format", "text", "text, md or json")
	fl.StringVar(&f.svg, "svg", "", "write a chart of the fits here too")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, args []string) error {
	o, err := f.options()
	if err != nil {
		return badInput(err)
	}
	var runs []*results.Run
	for _, path := range args {
		r, err := results.Open(path)
		if err != nil {
			return badInput(err)
		}
		runs = append(runs, r)
	}
	p, err := plan.Make(runs, o)
	if q := (*plan.QuestionError)(nil); errors.As(err, &q) {
		return badInput(err)
	}
	if err != nil {
		return err
	}
	if f.svg != "" {
		b, err := p.SVG()
		if err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
		if err := os.WriteFile(f.svg, b, 0o644); err != nil {
			return badInput(fmt.Errorf("--svg: %w; name a file in a directory that can be written", err))
		}
	}
	text := []byte(columns.Fit(p.Text(), widthOf(cmd.OutOrStdout())))
	switch f.format {
	case "md":
		text = []byte(p.Markdown())
	case "json":
		if text, err = p.JSON(); err != nil {
			return err
		}
	}
	if _, err := cmd.OutOrStdout().Write(text); err != nil {
		return err
	}
	if code := p.ExitCode(); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// options reads the flags; all faults are listed at once.
func (f *planFlags) options() (plan.Options, error) {
	o := plan.Options{Extrapolate: f.extrapolate}
	var errs []error
	for _, text := range f.slos {
		s, err := plan.ParseSLO(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--slo %q: %w", text, err))
		}
		o.SLOs = append(o.SLOs, s)
	}
	for _, text := range f.whatIf {
		w, err := plan.ParseWhatIf(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--what-if: %w", err))
		}
		o.WhatIf = append(o.WhatIf, w)
	}
	if f.need != "" {
		n, err := plan.ParsePartitions(f.need)
		if err != nil {
			errs = append(errs, fmt.Errorf("--need: %w", err))
		}
		o.Need = n
	}
	if len(f.slos) == 0 && (f.need != "" || len(f.whatIf) > 0) {
		errs = append(errs, errors.New("--need and --what-if judge an objective; add --slo 'recovery.controller<10s'"))
	}
	if !slices.Contains(planFormats, f.format) {
		errs = append(errs, fmt.Errorf("--format %s: unknown; %s", f.format, didYouMean(f.format, planFormats, "there are "+strings.Join(planFormats, ", "))))
	}
	return o, errors.Join(errs...)
}

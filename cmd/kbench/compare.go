package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/columns"
	"kbench/results/compare"
)

const compareLong = `Compare sets runs side by side: medians with their intervals, the change with
its 95 % interval, p by Mann-Whitney, and ~ where no difference is known. Of one
run it compares the variants, or else the targets; --by makes targets or
variants sides of several runs too. With three sides and more, a side is marked
best only where it is significantly better than every other.

Only comparable cells meet: same point, and every setting, workload parameter,
store and field of the environment equal, but for what a variant declares.
What else differs is named and refused; --ignore PATH allows it, such as
--ignore environment.kernel,cluster.brokers. Cells that are not valid are left
out and named.

Headline phases (*) are tested together: their p are corrected by Holm. Metrics
that are histograms (propagation, unavailability) are tested by the medians of
their repeats.

p speaks of the clusters that were measured. Two runs of one build may differ by
more than their trials do: kbench ab measures pairs that answer for that.

Exit codes: 0 compared, whatever came out; 2 usage, a broken folder, or runs
that are not comparable; 3 nothing valid to compare.`

func newCompare() *cobra.Command {
	var by, ignore []string
	var format string
	formats := []string{"text", "md", "json", "csv"}
	cmd := &cobra.Command{
		Use:   "compare RUN [RUN...]",
		Short: "Set runs, targets or variants side by side",
		Long:  compareLong,
		Example: `  kbench compare old-run new-run
  kbench compare kbench-results/latest --by target
  kbench compare monday tuesday wednesday --format csv > runs.csv
  kbench compare old-kernel new-kernel --ignore environment.kernel`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badInput(errors.New("kbench compare takes run folders, got none; see `kbench compare --help`"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return badInput(fmt.Errorf("--format %s: unknown; %s", format, didYouMean(format, formats, "there are "+strings.Join(formats, ", "))))
			}
			for _, d := range by {
				if dims := compare.Dimensions(); !slices.Contains(dims, d) {
					return badInput(fmt.Errorf("--by %s: unknown; %s", d, didYouMean(d, dims, "there are "+strings.Join(dims, ", "))))
				}
			}
			inputs := make([]compare.Input, len(args))
			for i, path := range args {
				r, err := results.Open(path)
				if err != nil {
					return badInput(err)
				}
				inputs[i] = compare.Input{Label: path, Run: r}
			}
			c, err := compare.New(inputs, compare.Options{By: by, Ignore: ignore})
			if err != nil {
				return badInput(err)
			}
			return printComparison(cmd, c, format)
		},
	}
	cmd.Flags().StringSliceVar(&by, "by", nil, "what else is a side: target, variant or both")
	cmd.Flags().StringSliceVar(&ignore, "ignore", nil, "settings and environment fields that may differ, by path")
	cmd.Flags().StringVar(&format, "format", "text", "form of the output: text, md, json or csv")
	return cmd
}

func printComparison(cmd *cobra.Command, c *compare.Comparison, format string) error {
	var b []byte
	var err error
	switch format {
	case "md":
		b = []byte(c.Markdown())
	case "json":
		b, err = c.JSON()
	case "csv":
		b, err = c.CSV()
	default:
		b = []byte(columns.Fit(c.Text(), widthOf(cmd.OutOrStdout())))
	}
	if err != nil {
		return err
	}
	if _, err := cmd.OutOrStdout().Write(b); err != nil {
		return err
	}
	if code := c.ExitCode(); code != 0 {
		return &exitError{code, errors.New("nothing was compared: " + c.Why())}
	}
	return nil
}

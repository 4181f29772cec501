package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kbench/results"
	"kbench/results/paired"
)

const abLong = `Ab compares two sides in interleaved pairs on one machine, A B, B A, A B, each
cell-run on a cluster of its own, and says in words which is faster. The sides
are the specs BASE and VARIANT, or one spec and a variant that it declares, or
the two targets of one spec.

The number of pairs is fixed beforehand and so is the primary metric, which
alone decides; other metrics are shown with p-values corrected by Holm. Of
several primary metrics all decide: faster is what is faster in each of them. A
cell-run counts as the median of its trials. The first pairs warm the machine
up: they stay in the run folder and are not counted. A pair with an invalid
cell is run again, both sides, a bounded number of times; a broken invariant is
a finding and ends the comparison.

The verdict is faster, slower, same (the 95 % interval lies within the margin)
or inconclusive, then with the number of pairs that would do. Given a run
folder, ab judges it again and runs nothing.

Exit codes: 0 faster, slower or same at every point; 1 slower, with --fail-if
slower; 2 usage; 3 inconclusive, invalid or too few pairs; 130 SIGINT, 143
SIGTERM: what was measured is kept.`

// abFlags are the flags of `kbench ab` beside those of `kbench run`.
type abFlags struct {
	runFlags
	pairs, warmup, retryPairs int
	variant, metric, margin   string
	failIf, format            string
}

func newAB() *cobra.Command {
	f := abFlags{runFlags: runFlags{own: "retries"}} // of pairs, not of cells
	cmd := &cobra.Command{
		Use:   "ab BASE VARIANT | ab SPEC [--variant NAME] | ab RUN",
		Short: "Compare two sides in interleaved pairs",
		Long:  abLong,
		Example: `  kbench ab base.yaml linger-5ms.yaml --metric propagation.last --pairs 12
  kbench ab nightly.yaml --variant linger-5ms --partitions 10k
  kbench ab zk.yaml kraft.yaml --fail-if slower
  kbench ab nightly.yaml --targets kafka-zk,zk
  kbench ab kbench-results/latest --format md`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := len(args); n < 1 || n > 2 {
				return badInput(fmt.Errorf("kbench ab takes two specs, or one with --variant or two targets, or a run folder, got %d; see `kbench ab --help`", n))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runAB(cmd, f, args) },
	}
	fl := cmd.Flags()
	f.register(fl)
	fl.IntVar(&f.pairs, "pairs", 10, "counted pairs of each point, fixed beforehand; 6 are the fewest that can decide")
	fl.IntVar(&f.warmup, "warmup-pairs", 1, "pairs that are run first and not counted")
	fl.IntVar(&f.retryPairs, "retries", 2, "times that a pair with an invalid cell is run again")
	fl.StringVar(&f.variant, "variant", "", "compare the base of one spec with this variant of it")
	fl.StringVar(&f.metric, "metric", "", "primary metric, such as propagation.last or propagation.last.p99, or several between commas (default: the headline of the first workload)")
	fl.StringVar(&f.margin, "margin", "5%", "within which the sides are the same")
	fl.StringVar(&f.failIf, "fail-if", "", "slower: exit with 1 where the variant is slower")
	fl.StringVar(&f.format, "format", "text", "form of the verdict: text, md or json")
	return cmd
}

func runAB(cmd *cobra.Command, f abFlags, args []string) error {
	margin, err := f.judging()
	if info, statErr := os.Stat(args[0]); statErr == nil && info.IsDir() {
		if len(args) > 1 {
			err = errors.Join(err, fmt.Errorf("%s is a directory; name one run folder, or two specs", args[0]))
		}
		if err = errors.Join(err, onlyJudging(cmd.Flags(), args[0])); err != nil {
			return badInput(err)
		}
		o := paired.Options{Metric: f.metric}
		if cmd.Flags().Changed("margin") {
			o.Margin = margin
		}
		return judgeAB(cmd, f, args[0], o, nil)
	}
	c, planErr := f.plan(cmd, args, margin)
	if err := errors.Join(err, planErr); err != nil {
		return badInput(err)
	}
	if f.dryRun {
		return c.dryRun(cmd.OutOrStdout())
	}
	if why := paired.TooFew(f.pairs); why != "" {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s for a verdict\n", why)
	}
	if !f.quiet {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "pairs to run: %d at each of %d points, about %.0f min\n", f.pairs+f.warmup, len(c.comparison.Matches), max(c.estimate().Minutes(), 1))
	}
	outcome, sig, err := execute(cmd, f.runFlags, c.watched(), c.options())
	if err != nil {
		return err
	}
	r, err := results.Open(outcome.Dir)
	if err != nil {
		return err
	}
	if !f.quiet {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%srun folder: %s\n", took(r.Manifest), outcome.Dir)
	}
	if err := writeReports(r, outcome.Dir); err != nil {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "kbench: %v\n", err)
	}
	return judgeAB(cmd, f, outcome.Dir, paired.Options{}, sig)
}

// judging reads the flags that say how to judge. The error lists all faults.
func (f abFlags) judging() (margin float64, err error) {
	var errs []error
	if margin, err = parseShare(f.margin); err != nil {
		errs = append(errs, fmt.Errorf("--margin %w", err))
	}
	if f.failIf != "" && f.failIf != string(paired.Slower) {
		errs = append(errs, fmt.Errorf("--fail-if %s: unknown; write slower", f.failIf))
	}
	if formats := []string{"text", "md", "json"}; !slices.Contains(formats, f.format) {
		errs = append(errs, fmt.Errorf("--format %s: unknown; %s", f.format, didYouMean(f.format, formats, "there are "+strings.Join(formats, ", "))))
	}
	return margin, errors.Join(errs...)
}

// onlyJudging refuses flags that say what to run where nothing is run.
func onlyJudging(fl *pflag.FlagSet, dir string) error {
	var wrong []string
	fl.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"metric", "margin", "fail-if", "format", "quiet"}, f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s is a run folder, which is judged as it is; leave it out, or name specs", strings.Join(wrong, " "), dir)
}

// parseShare reads 5% as 0.05. The error begins with the text.
func parseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(v > 0 && v < 100) {
		return 0, fmt.Errorf("%s: not a share over 0%% and under 100%%; write 5%%", text)
	}
	return v / 100, nil
}

// judgeAB prints the verdict over a run folder and gives the exit code.
func judgeAB(cmd *cobra.Command, f abFlags, dir string, o paired.Options, sig os.Signal) error {
	r, err := results.Open(dir)
	if err != nil {
		return badInput(err)
	}
	a, err := paired.Analyse(r, o)
	if err != nil {
		return badInput(err)
	}
	if named := r.Manifest.Comparison.Primary(); !slices.Equal(a.Metrics, named) {
		a.Notes = append(a.Notes, "the primary metric was chosen after the measurement; named beforehand was "+strings.Join(named, ", "))
	}
	if err := printAB(cmd.OutOrStdout(), a, f.format); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	if err := signalExit(sig); err != nil {
		return err
	}
	if code := a.ExitCode(f.failIf != ""); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

func printAB(w io.Writer, a *paired.Analysis, format string) error {
	switch format {
	case "md":
		_, err := io.WriteString(w, a.Markdown())
		return err
	case "json":
		b, err := a.JSON()
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	default:
		return printText(w, a.Text())
	}
}

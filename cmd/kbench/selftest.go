package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kbench/harness"
)

func newSelftest() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove the suite's own clocks against known delays",
		Long: `Selftest runs the real workloads, probes and recorders over real connections
against a target in this process whose every delay is known: before the
acknowledgement, before brokers apply a change, on one broker alone, a stall of
the generator, a second's stall of the target at 1,000 operations a second, the
phases of a failover and of a controlled shutdown. Each must come back from the
run folder in its column within 5 % or the period of the probes; a delay on one
broker must show as a divergence of that length on one broker. Nothing put in
must show as less than the smallest delay, so that no clock adds to all of them.

What is not right is measured again, five times at most. Less than was put in is
wrong at once; more is wrong where it is there in the nearest of all tries, and
a generator of that try was not as late itself, as on a machine that is busy.

Exit code 0 means that all came back, 1 that one did not, 3 that this machine
was too busy to tell.`,
		Example: "  kbench selftest\n  kbench selftest --keep selftest-runs",
		Args:    atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			out := keep
			if out == "" {
				if out, err = os.MkdirTemp("", "kbench-selftest-*"); err != nil {
					return err
				}
				defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
			}
			ctx, signalled, stop := untilSignal(cmd.Context())
			defer stop()
			readings, err := harness.SelfTest(ctx, harness.SelfTestOptions{Out: out, Tool: tool(), Say: func(r harness.Reading) {
				if r.Standing != harness.Right {
					_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: %s\n", r.Case, r.Column, r.Why)
				}
			}})
			werr := writeReadings(cmd.OutOrStdout(), readings)
			if s := signalExit(signalled()); s != nil {
				return s
			}
			if err = errors.Join(err, werr); err != nil {
				return err
			}
			return verdict(selftestCode(readings), nil)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "keep the run folders of the measurements in this directory")
	return cmd
}

// writeReadings is the table of what came back.
func writeReadings(out io.Writer, readings []harness.Reading) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "put in\tcolumn\texpected\tcame back\twithin\ttries\t")
	last := ""
	right := 0
	for _, r := range readings {
		what := ""
		if r.Case != last {
			what, last = r.Case, r.Case
		}
		if r.Standing == harness.Right {
			right++
		}
		want, got, within := r.Want.String(), r.Got.Round(10*time.Microsecond).String(), r.Tolerance.String()
		if r.Number {
			want, got, within = fmt.Sprint(int64(r.Want)), fmt.Sprint(int64(r.Got)), fmt.Sprint(int64(r.Tolerance))
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", cmp.Or(what, `"`), r.Column, want, got, within, r.Tries, r.Standing)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d of %d readings are right\n", right, len(readings))
	return err
}

func selftestCode(readings []harness.Reading) int {
	code := 0
	for _, r := range readings {
		switch r.Standing {
		case harness.Wrong:
			return exitMissed
		case harness.Busy:
			code = exitInvalid
		}
	}
	if len(readings) == 0 {
		return exitInvalid
	}
	return code
}

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/history"
)

func newHistoryPrune() *cobra.Command {
	var keep int
	var before string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Drop old runs",
		Long: `Prune rewrites the history without old runs, in one step: who reads it meanwhile
sees the old file or the new one, and an add waits. Accepted changes stay as
long as a run does that they speak of. What is dropped is gone; git keeps it.`,
		Example: "  kbench history prune --keep 400\n  kbench history prune --before 2026-01-01",
		Args:    atMost(0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := historyPath(cmd)
			if err != nil {
				return err
			}
			k, err := keepOf(cmd, keep, before)
			if err != nil {
				return badInput(err)
			}
			p, err := history.Prune(path, k)
			if err != nil {
				return badInput(err)
			}
			tell(cmd, p.Notes)
			w := cmd.OutOrStdout()
			for _, run := range p.Runs {
				if _, err := fmt.Fprintf(w, "dropped %s\n", results.OneLine(run)); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(w, "dropped %d runs and %d accepted changes, kept %d runs\n", len(p.Runs), p.Accepts, p.Kept)
			return err
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "keep so many newest runs of each spec")
	cmd.Flags().StringVar(&before, "before", "", "drop runs that started before this date (2026-01-31, UTC) or time (RFC 3339)")
	return cmd
}

func keepOf(cmd *cobra.Command, keep int, before string) (history.Keep, error) {
	k := history.Keep{Newest: keep}
	switch {
	case !cmd.Flags().Changed("keep") && !cmd.Flags().Changed("before"):
		return k, errors.New("nothing says what to drop; give --keep N, --before DATE or both")
	case cmd.Flags().Changed("keep") && keep < 1:
		return k, fmt.Errorf("--keep %d: keep at least 1 run; delete the file to drop all", keep)
	case cmd.Flags().Changed("before"):
		at, err := time.Parse(time.DateOnly, before)
		if err != nil {
			at, err = time.Parse(time.RFC3339, before)
		}
		if err != nil {
			return k, fmt.Errorf("--before %q is no date; write 2026-01-31 or 2026-01-31T02:00:00+01:00", before)
		}
		k.Before = at
	}
	return k, nil
}

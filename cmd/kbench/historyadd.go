package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/history"
)

func newHistoryAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add RUN [RUN...]",
		Short: "Add run folders",
		Long: `Add appends a line for each run folder, all or none. Runs that are there already
are skipped. Invalid runs are kept and shown, and never compared with. Many
processes may add at once; an add that was killed leaves at most one line
without an end, which the next add moves aside and tells.`,
		Example: "  kbench history add kbench-results\n  kbench history add old/*/ --history nightly.jsonl",
		Args:    some("run folders"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := historyPath(cmd)
			if err != nil {
				return err
			}
			nights, err := nightsOf(args)
			if err != nil {
				return badInput(err)
			}
			added, err := history.Add(path, nights...)
			if err != nil {
				return badInput(err)
			}
			tell(cmd, added.Notes)
			return tellAdded(cmd.OutOrStdout(), added, nights)
		},
	}
}

// nightsOf opens every run folder; all faults are told at once.
func nightsOf(paths []string) ([]*history.Night, error) {
	var nights []*history.Night
	var errs []error
	for _, path := range paths {
		r, err := results.Open(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		n, err := history.FromRun(r)
		errs = append(errs, err)
		nights = append(nights, n)
	}
	return nights, errors.Join(errs...)
}

func tellAdded(w io.Writer, added history.Added, nights []*history.Night) error {
	var errs []error
	for _, run := range added.Added {
		note := ""
		i := slices.IndexFunc(nights, func(n *history.Night) bool { return n.Run == run })
		if v := nights[i].Verdict; v != results.Valid {
			note = fmt.Sprintf(" (%s: its cells that are not valid are shown, not compared)", v)
		}
		_, err := fmt.Fprintf(w, "added %s%s\n", results.OneLine(run), note)
		errs = append(errs, err)
	}
	for _, run := range added.Skipped {
		_, err := fmt.Fprintf(w, "skipped %s: it is there already\n", results.OneLine(run))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

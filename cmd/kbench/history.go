package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/history"
)

// defaultHistory is the directory of a history that is not named.
const defaultHistory = "kbench-history"

const historyLong = `History keeps what runs measured over months, in one file of text: a JSON line
for each run, appended and never changed, so that git merges the lines of two
branches. A run that is added twice counts once. Beside it lies an index that
only makes reading faster; it may be deleted.

A nightly job adds its run, gates it by the nights before, and looks for slow
change:

  kbench run nightly.yaml
  kbench gate kbench-results --against kbench-history
  kbench history add kbench-results
  kbench history trend

When a change was meant, accept it: from that run on, nights are compared with
that run and later ones alone.`

// newHistory is the parent of the commands on a history.
func newHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "Keep runs over months, find changes, export",
		Long:    historyLong,
		Example: "  kbench history add kbench-results\n  kbench history trend --fail-on-alert\n  kbench history accept 20260301T020000Z-nightly --reason 'fsync of every batch'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput(fmt.Errorf("unknown command %q; %s", args[0], didYouMean(args[0], commandNames(cmd), "`kbench history --help` lists them")))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().String("history", defaultHistory, "the history: a file, or a directory that holds "+history.FileName)
	cmd.AddCommand(newHistoryAdd(), newHistoryList(), newHistoryShow(), newHistoryAccept(), newHistoryPrune(), newHistoryTrend(), newHistoryExport())
	return cmd
}

// historyPath is the history that a command works on.
func historyPath(cmd *cobra.Command) (string, error) {
	path, err := cmd.Flags().GetString("history")
	if err == nil && path == "" {
		err = errors.New("--history is empty; name a file or directory")
	}
	if path == defaultHistory {
		path += "/" + history.FileName
	}
	return path, badInput(err)
}

// readHistoryLog reads the history and tells its notes.
func readHistoryLog(cmd *cobra.Command) (*history.Log, error) {
	path, err := historyPath(cmd)
	if err != nil {
		return nil, err
	}
	l, err := history.Read(path)
	if err != nil {
		return nil, badInput(err)
	}
	tell(cmd, l.Notes)
	return l, nil
}

// tell writes notes to stderr, one a line.
func tell(cmd *cobra.Command, notes []string) {
	for _, n := range notes {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "note: "+results.OneLine(n))
	}
}

// checkFormat judges --format.
func checkFormat(format string, formats []string) error {
	if slices.Contains(formats, format) {
		return nil
	}
	return badInput(fmt.Errorf("--format %s: unknown; %s", format, didYouMean(format, formats, "there are "+strings.Join(formats, ", "))))
}

// some judges words after a command of which there must be one at least.
func some(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return badInput(fmt.Errorf("%s takes %s, got none; see `%s --help`", cmd.CommandPath(), what, cmd.CommandPath()))
		}
		return nil
	}
}

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

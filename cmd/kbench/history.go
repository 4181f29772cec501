package main

import (
	"errors"
	"fmt"
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

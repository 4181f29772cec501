package main

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/history"
)

func newHistoryAccept() *cobra.Command {
	var reason, metric, cell, by string
	cmd := &cobra.Command{
		Use:   "accept RUN",
		Short: "Accept what changed with a run",
		Long: `Accept appends a line that makes a run the new baseline: gate compares later
nights with that run and later ones alone, and trend takes its change as known.
Name the first run of the new level. Without --cell and --metric everything
that the run changed is accepted.`,
		Example: "  kbench history accept 20260301T020000Z-nightly --reason 'fsync of every batch' --metric recovery.controller",
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return badInput(errors.New("--reason is missing; say why the change was meant, for who reads it in a year"))
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
			n, err := l.Lookup(args[0])
			if err != nil {
				return badInput(err)
			}
			if cell != "" && !slices.ContainsFunc(n.Cells, func(c history.Cell) bool { return c.ID == cell }) {
				return badInput(fmt.Errorf("--cell %s: run %s has no such cell; %s", cell, n.Run, didYouMean(cell, cellNames(&history.Log{Nights: []*history.Night{n}}), "`kbench history show "+n.Run+"` lists them")))
			}
			notes, err := history.AddAccept(l.Path, history.AcceptNight(n, cell, metric, reason, by, time.Now()))
			if err != nil {
				return badInput(err)
			}
			tell(cmd, notes)
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "accepted %s: nights from %s on are compared with it and later ones alone\n", n.Run, n.At.Format(time.RFC3339))
			return err
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why the change was meant (needed)")
	cmd.Flags().StringVar(&metric, "metric", "", "only this metric or metric.phase")
	cmd.Flags().StringVar(&cell, "cell", "", "only this cell")
	cmd.Flags().StringVar(&by, "by", userName(), "who accepts it")
	return cmd
}

// userName is the user's name where the system knows it.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

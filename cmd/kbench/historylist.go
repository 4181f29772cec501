package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/history"
)

var gridFormats = []string{"text", "json", "csv", "md"}

func newHistoryList() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the runs, oldest first",
		Example: "  kbench history list\n  kbench history list --format csv > runs.csv",
		Args:    atMost(0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format, gridFormats); err != nil {
				return err
			}
			l, err := readHistoryLog(cmd)
			if err != nil {
				return err
			}
			if format == "json" {
				return writeJSON(cmd.OutOrStdout(), listJSON(l))
			}
			g := grid{head: []string{"run", "started", "spec", "commit", "verdict", "cells", "notes"}, drop: []string{"started", "spec", "cells"}}
			for _, n := range l.Nights {
				notes := slices.Clone(n.Warnings)
				for _, a := range l.Accepts {
					if a.Run == n.Run && a.Digest == n.Digest {
						notes = append(notes, "accepted: "+a.Reason)
					}
				}
				commit := n.Commit
				if format == "text" {
					commit = shortCommit(commit)
				}
				g.add(n.Run, n.Started.Format(time.RFC3339), n.Spec, commit, string(n.Verdict), strconv.Itoa(len(n.Cells)), strings.Join(notes, "; "))
			}
			return g.write(cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "form of the output: text, json, csv or md")
	return cmd
}

// shortCommit cuts a commit as Git shows it.
func shortCommit(commit string) string { return commit[:min(len(commit), 12)] }

// listedNight is a night without its cells' figures.
type listedNight struct {
	Run      string           `json:"run"`
	Digest   string           `json:"digest"`
	Started  time.Time        `json:"started"`
	Spec     string           `json:"spec"`
	Commit   string           `json:"commit,omitempty"`
	Verdict  results.Verdict  `json:"verdict"`
	Cells    []string         `json:"cells"`
	Warnings []string         `json:"warnings,omitempty"`
	Accepted []history.Accept `json:"accepted,omitempty"`
}

func listJSON(l *history.Log) []listedNight {
	out := []listedNight{}
	for _, n := range l.Nights {
		v := listedNight{Run: n.Run, Digest: n.Digest, Started: n.Started, Spec: n.Spec, Commit: n.Commit, Verdict: n.Verdict, Cells: []string{}, Warnings: n.Warnings}
		for i := range n.Cells {
			v.Cells = append(v.Cells, n.Cells[i].ID)
		}
		for _, a := range l.Accepts {
			if a.Run == n.Run && a.Digest == n.Digest {
				v.Accepted = append(v.Accepted, a)
			}
		}
		out = append(out, v)
	}
	return out
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/benchfmt"
	"kbench/results/report"
)

func newReport() *cobra.Command {
	var format, out string
	formats := []string{"text", "md", "json", "html", "csv", "operations", "availability", "bench"}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Make the reports of a run folder anew",
		Long: `Report writes report.json, report.md and report.html into the run folder, or
into --out, and prints the result table. With --format it only prints that form;
csv has a row for each figure, operations one for each generator with what became
of what it sent, availability one for each step of time of the trials of
rolling-restart, these also as CSV; bench is the Go benchmark format, on which benchstat
works. The schema of report.json is printed by kbench schema report.
RUN is a run folder; a folder of run folders means its latest.`,
		Example: "  kbench report kbench-results/latest\n  kbench report kbench-results --format md > table.md\n  kbench report old-run --out public",
		Args:    exactly(1, "one run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			known := false
			for _, f := range formats {
				known = known || f == format
			}
			if !known && cmd.Flags().Changed("format") {
				return badInput(fmt.Errorf("--format %s: unknown; %s", format, didYouMean(format, formats, "there are "+strings.Join(formats, ", "))))
			}
			r, err := results.Open(args[0])
			if err != nil {
				return badInput(err)
			}
			if !cmd.Flags().Changed("format") {
				return reportAll(cmd, r, out)
			}
			if cmd.Flags().Changed("out") {
				return badInput(errors.New("--format prints one form to stdout and --out writes files: give one of them"))
			}
			b, err := reportForm(r, format)
			if err != nil {
				return badInput(err)
			}
			if format == "text" {
				return printText(cmd.OutOrStdout(), string(b))
			}
			_, err = cmd.OutOrStdout().Write(b)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "print only this: text, md, json, html, csv, operations, availability or bench")
	cmd.Flags().StringVar(&out, "out", "", "write the reports here instead of into the run folder")
	return cmd
}

// reportAll writes every form and prints the table.
func reportAll(cmd *cobra.Command, r *results.Run, out string) error {
	if cmd.Flags().Changed("out") {
		if err := results.CheckDir("--out", out); err != nil {
			return badInput(err)
		}
	} else {
		out = r.Dir
	}
	b, err := reportForm(r, "text")
	if err != nil {
		return badInput(err)
	}
	if err := report.Write(r, out); err != nil {
		return err
	}
	if err := printText(cmd.OutOrStdout(), string(b)); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "reports: %s/report.{html,md,json}\n", out)
	return nil
}

func reportForm(r *results.Run, format string) ([]byte, error) {
	if format == "bench" {
		var b bytes.Buffer
		err := benchfmt.Write(&b, r)
		return b.Bytes(), err
	}
	rep, err := report.New(r)
	if err != nil {
		return nil, err
	}
	switch format {
	case "md":
		return []byte(rep.Markdown()), nil
	case "json":
		return rep.JSON()
	case "html":
		return rep.HTML()
	case "csv":
		return rep.CSV()
	case "operations":
		return rep.OperationsCSV()
	case "availability":
		return rep.AvailabilityCSV()
	default:
		return []byte(rep.Text()), nil
	}
}

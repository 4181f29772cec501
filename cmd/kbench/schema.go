package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"kbench/harness/spec"
	"kbench/results/report"
)

func newSchema() *cobra.Command {
	defaults := false
	cmd := &cobra.Command{
		Use:     "schema [report]",
		Short:   "Print the JSON Schema of specs, for editors, or of report.json",
		Example: "  kbench schema > kbench.schema.json\n  kbench schema --example > my.yaml\n  kbench schema report > report.schema.json",
		Args:    atMost(1, "report or no argument"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := spec.Schema()
			switch {
			case len(args) == 1 && args[0] != "report":
				return badInput(fmt.Errorf("there is no schema of %q; name report, or nothing for that of specs", args[0]))
			case len(args) == 1 && defaults:
				return badInput(errors.New("--example is of specs alone; leave report or --example out"))
			case len(args) == 1:
				out = report.Schema()
			case defaults:
				out = spec.DefaultYAML()
			}
			_, err := cmd.OutOrStdout().Write(out)
			return err
		},
	}
	cmd.Flags().BoolVar(&defaults, "example", false, "print the built-in spec instead, to start from")
	return cmd
}

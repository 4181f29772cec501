package main

import (
	"github.com/spf13/cobra"

	"kbench/harness/spec"
)

func newSchema() *cobra.Command {
	defaults := false
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of specs, for editors",
		Example: "  kbench schema > kbench.schema.json\n  kbench schema --example > my.yaml",
		Args:    atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := spec.Schema()
			if defaults {
				out = spec.DefaultYAML()
			}
			_, err := cmd.OutOrStdout().Write(out)
			return err
		},
	}
	cmd.Flags().BoolVar(&defaults, "example", false, "print the built-in spec instead, to start from")
	return cmd
}

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kbench/harness/netns"
	"kbench/harness/process"
	"kbench/results"
)

func newClean() *cobra.Command {
	var dataDir, out string
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `Clean kills the nodes and removes the data of runs whose kbench process is gone,
and removes their unfinished run folders. Runs that go on, finished run folders
and files of others are not touched.`,
		Example: "  kbench clean\n  kbench clean --data-dir /mnt/fast/kbench --out nightly",
		Args:    atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []string
			var errs []error
			keep := func(removed []string, err error) {
				all, errs = append(all, removed...), append(errs, err)
			}
			keep(process.Sweep(dataDir))
			_ = os.Remove(dataDir) // only where nothing is left in it
			keep(netns.Sweep())
			keep(results.SweepPartials(out))
			keep(cleanDocker(cmd))
			for _, name := range all {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", name)
			}
			if len(all) == 0 {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "nothing to clean")
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir(), "where nodes kept their data")
	cmd.Flags().StringVar(&out, "out", "kbench-results", "folder that receives run folders")
	return cmd
}

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kbench/harness/attach"
	"kbench/harness/child"
	"kbench/harness/cpuquota"
	"kbench/harness/netns"
	"kbench/harness/process"
	"kbench/results"
)

func newClean() *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `Clean kills the nodes and removes the data of runs whose kbench process is gone,
and removes their unfinished run folders, but for those that kbench run --resume
can go on with: --all removes them too. Of the engine of containers it removes
kbench's node images, too, that no container uses. Runs that go on, finished run folders
and files of others are not touched.`,
		Example: "  kbench clean\n  kbench clean --data-dir /mnt/fast/kbench --out nightly\n  kbench clean --all",
		Args:    atMost(0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runClean(cmd, f) },
	}
	cmd.Flags().StringVar(&f.dataDir, "data-dir", defaultDataDir(), "where nodes kept their data")
	cmd.Flags().StringVar(&f.out, "out", "kbench-results", "folder that receives run folders")
	cmd.Flags().StringVar(&f.bootstrap, "bootstrap", "", "remove the topics too that killed runs of this host left in the cluster of these brokers, host:port,host:port")
	cmd.Flags().StringVar(&f.commandConfig, "command-config", "", commandConfigDoc)
	cmd.Flags().BoolVar(&f.all, "all", false, "remove unfinished runs that could be resumed too")
	return cmd
}

type cleanFlags struct {
	dataDir, out             string
	bootstrap, commandConfig string
	all                      bool
}

func runClean(cmd *cobra.Command, f cleanFlags) error {
	there, err := accessTo(f.bootstrap, f.commandConfig)
	if f.bootstrap == "" && f.commandConfig != "" {
		err = errors.New("--command-config says how to reach a cluster; name its brokers by --bootstrap host:port")
	}
	if err != nil {
		return badInput(err)
	}
	all, err := sweepDead(cmd, f.dataDir, "")
	folders, kept, ferr := results.SweepPartials(f.out, f.all)
	all = append(all, folders...)
	if f.bootstrap != "" {
		n, terr := there.Delete(cmd.Context(), attach.Dead)
		if n > 0 {
			all = append(all, fmt.Sprintf("%d topics at %s", n, f.bootstrap))
		}
		ferr = errors.Join(ferr, terr)
	}
	for _, name := range all {
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", name)
	}
	for _, dir := range kept {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "kept %s: `kbench run --resume %s` goes on with it, `kbench clean --all` removes it\n", dir, dir)
	}
	if len(all)+len(kept) == 0 {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "nothing to clean")
	}
	return errors.Join(err, ferr)
}

// sweepDead removes the processes, files, networks and containers of runs whose
// kbench is gone, and names them: of one owner, a child.Identity, or where it is ""
// of all, with the images that nothing uses.
func sweepDead(cmd *cobra.Command, dataDir, owner string) ([]string, error) {
	var mine func(string) bool
	if owner != "" {
		mine = func(o string) bool { return o == owner }
	}
	var all []string
	var errs []error
	keep := func(removed []string, err error) {
		all, errs = append(all, removed...), append(errs, err)
	}
	keep(process.Sweep(dataDir, mine))
	_ = os.Remove(dataDir) // only where nothing is left in it
	keep(netns.Sweep(mine))
	keep(cpuquota.Sweep(child.Pid(owner)))
	keep(cleanDocker(cmd, mine))
	return all, errors.Join(errs...)
}

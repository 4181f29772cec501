package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kbench/harness"
	"kbench/harness/attach"
	"kbench/harness/spec"
)

// resumeFlags may stand beside --resume: they change how a run is watched, not
// what is run.
var resumeFlags = map[string]bool{"resume": true, "data-dir": true, "quiet": true, "serve": true, "profile": true, "dry-run": true, "help": true}

// findUnfinished reads the run that goes on, and takes its folders over into f.
func findUnfinished(cmd *cobra.Command, f *runFlags, args []string) (*harness.Unfinished, error) {
	var also []string
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		if !resumeFlags[fl.Name] {
			also = append(also, "--"+fl.Name)
		}
	})
	also = append(also, args...)
	if len(also) > 0 {
		return nil, fmt.Errorf("--resume goes on with what was planned; leave out %s", strings.Join(also, ", "))
	}
	u, err := harness.FindUnfinished(f.resume)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	f.out = filepath.Dir(u.Dir)
	if !cmd.Flags().Changed("data-dir") {
		f.dataDir = u.DataDir
	}
	if err := u.CheckPlace(f.dataDir); err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	return u, nil
}

// loadRun reads the spec that is run: that of the run that goes on, or what
// flags and file make together.
func loadRun(cmd *cobra.Command, f runFlags, args []string, u *harness.Unfinished) (*spec.Spec, error) {
	if u == nil {
		return loadSpec(cmd, f, args)
	}
	return spec.Parse("the spec of "+u.Dir, []byte(u.Spec))
}

// providerOf is where the nodes are to live: a run that goes on stays where it
// was.
func providerOf(s *spec.Spec, u *harness.Unfinished) spec.Provider {
	if u == nil {
		return s.Provider
	}
	return spec.Provider(u.Provider)
}

// sweepBefore removes what the killed kbench left of this run, and nothing else,
// and says how far it had come.
func sweepBefore(cmd *cobra.Command, f runFlags, s *spec.Spec, u *harness.Unfinished) error {
	if f.dryRun {
		return nil
	}
	removed, err := sweepOf(cmd, f, s, u.Owner)
	if f.quiet {
		return err
	}
	for _, name := range removed {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "removed %s\n", name)
	}
	_, werr := fmt.Fprintf(cmd.ErrOrStderr(), "going on with %s: %d units are measured\n", u.Dir, u.Done)
	return errors.Join(err, werr)
}

// sweepOf removes what one kbench left on this machine, and in the cluster that it
// was attached to.
func sweepOf(cmd *cobra.Command, f runFlags, s *spec.Spec, owner string) (removed []string, err error) {
	if owner == "" { // begun by a kbench that did not say who it was
		return nil, nil
	}
	removed, err = sweepDead(cmd, f.dataDir, owner)
	if s.Attach == nil {
		return removed, err
	}
	there, aerr := accessTo(strings.Join(s.Attach.Bootstrap, ","), s.Attach.CommandConfig)
	if aerr == nil {
		var n int
		if n, aerr = there.Delete(cmd.Context(), attach.DeadOf(owner)); n > 0 && aerr == nil {
			removed = append(removed, fmt.Sprintf("%d topics that the killed run had made at %s", n, strings.Join(s.Attach.Bootstrap, ",")))
		}
	}
	return removed, errors.Join(err, aerr)
}

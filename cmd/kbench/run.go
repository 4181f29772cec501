package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kbench/harness"
	"kbench/harness/live"
	"kbench/harness/spec"
	"kbench/results"
	"kbench/results/report"
)

const runLong = `Run builds each cell of the spec (target, variant, point of the sweep), drives
the workloads on it, checks the cluster and writes one run folder into --out.
SPEC is a file or the name of a built-in spec (kbench list specs). Without it
the built-in comparison is run: zk against kraft over a ladder of partitions
with matched 2 s timers.

What decides a value, strongest first: --set, the other flags, the spec, the
defaults. --dry-run prints the spec that results, whole, and runs nothing.
The result table goes to stdout, progress to stderr. Ctrl-C ends the current
trial, keeps and writes what was measured, and tears down. A run whose kbench
was killed goes on with --resume, which takes the unfinished run folder or the
folder that holds it: what that kbench left of the run is removed before, and
cells that were finished are not run again.`

// runFlags are the flags of `kbench run` as they were written: the spec judges
// their values.
type runFlags struct {
	targets, partitions, workloads string
	provider, store, timeouts      string
	trials, repeats, retries, seed string
	own                            string // a flag that the command has for itself, not for the spec
	set                            []string
	dataDir, out                   string
	resume, bootstrap              string
	commandConfig                  string
	profile                        bool
	dryRun                         bool
	watchFlags
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SPEC]",
		Short: "Run a comparison and print its result table",
		Long:  runLong,
		Example: `  kbench run
  kbench run --partitions 1k,10k,100k --trials 5
  kbench run nightly.yaml --set kraft.append.linger=5ms --out nightly
  kbench run zk-history --partitions 1k,3k
  kbench run --dry-run
  kbench run --bootstrap broker-1:9092,broker-2:9092
  kbench run --bootstrap broker-1:9093 --command-config client.properties
  kbench run --set security=sasl+tls
  kbench run --resume kbench-results`,
		Args: atMost(1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRun(cmd, f, args) },
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&f.profile, "profile", false, "keep CPU and heap profiles of kbench's nodes for seconds of each workload's first trial, and flight recordings of the JVMs of Kafka and ZooKeeper; such a run is no measurement")
	cmd.Flags().StringVar(&f.bootstrap, "bootstrap", "", "measure the cluster of these brokers, host:port,host:port, which kbench does not start: target attach")
	cmd.Flags().StringVar(&f.commandConfig, "command-config", "", commandConfigDoc)
	cmd.Flags().StringVar(&f.resume, "resume", "", "go on with an unfinished run: its folder, or the one that holds it")
	cmd.Flags().StringVar(&f.repeats, "repeats", "", "times that each cell is run on a new cluster")
	cmd.Flags().StringVar(&f.retries, "retries", "", "times that an invalid cell is run again on a new cluster (default 0); a broken invariant never is")
	return cmd
}

// register adds the flags that every command has which runs clusters.
func (f *runFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.targets, "targets", "", "targets to measure, such as zk,kraft")
	fl.StringVar(&f.partitions, "partitions", "", "ladder of partitions, such as 1k,10k,100k")
	fl.StringVar(&f.workloads, "workloads", "", "workloads to run, with the spec's parameters where it has them")
	fl.StringVar(&f.provider, "provider", "", "where nodes run: auto, process or docker")
	fl.StringVar(&f.store, "store", "", "metadata store of zk: auto, zookeeper or embedded")
	fl.StringVar(&f.timeouts, "timeouts", "", "timer profile: default or matched")
	fl.StringVar(&f.trials, "trials", "", "injected events of each workload and cell")
	fl.StringVar(&f.seed, "seed", "", "seed of everything random")
	fl.StringArrayVar(&f.set, "set", nil, "give a key of the spec another value: path=value (repeatable)")
	fl.StringVar(&f.dataDir, "data-dir", defaultDataDir(), "where nodes keep their data; a memory file system makes fsync free")
	fl.StringVar(&f.out, "out", "kbench-results", "folder that receives run folders")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the spec in full and the cells, and run nothing")
	f.add(fl)
}

// overrides turns flags that were given into overrides of the spec. An empty
// value was given too, and is for the spec to refuse.
func (f runFlags) overrides(given func(flag string) bool) ([]spec.Override, error) {
	var out []spec.Override
	for _, o := range []struct {
		flag, path, value string
		list              bool
	}{
		{"targets", "targets", f.targets, true},
		{"bootstrap", "attach.bootstrap", f.bootstrap, true},
		{"command-config", "attach.commandConfig", f.commandConfig, false},
		{"partitions", "sweep.partitions", f.partitions, true},
		{"workloads", "workloads", f.workloads, true},
		{"provider", "provider", f.provider, false},
		{"store", "cluster.store", f.store, false},
		{"timeouts", "cluster.timeouts", f.timeouts, false},
		{"trials", "trials", f.trials, false},
		{"repeats", "repeats", f.repeats, false},
		{"retries", "retries", f.retries, false},
		{"seed", "seed", f.seed, false},
	} {
		if o.flag == f.own || !given(o.flag) {
			continue
		}
		out = append(out, spec.Override{Origin: "--" + o.flag, Path: o.path, Value: o.value, List: o.list})
	}
	var errs []error
	for _, s := range f.set {
		path, value, ok := strings.Cut(s, "=")
		if !ok || path == "" {
			errs = append(errs, fmt.Errorf("--set %s: not path=value; write --set trials=5", s))
			continue
		}
		out = append(out, spec.Override{Origin: "--set", Path: path, Value: value})
	}
	return out, errors.Join(errs...)
}

// loadSpec reads the spec that flags and file make together.
func loadSpec(cmd *cobra.Command, f runFlags, args []string) (*spec.Spec, error) {
	overrides, setErr := f.overrides(cmd.Flags().Changed)
	var s *spec.Spec
	var err error
	if cmd.Flags().Changed("bootstrap") && !cmd.Flags().Changed("targets") {
		overrides = append(overrides, spec.Override{Origin: "--bootstrap", Path: "targets", Value: string(spec.AttachTarget), List: true})
		if len(args) == 0 {
			s, err = spec.Attached(overrides...)
			return s, errors.Join(setErr, err)
		}
	}
	if len(args) == 1 {
		s, err = spec.Load(args[0], overrides...)
	} else {
		s, err = spec.Default(overrides...)
	}
	return s, errors.Join(setErr, err)
}

func runRun(cmd *cobra.Command, f runFlags, args []string) error {
	var unfinished *harness.Unfinished
	if cmd.Flags().Changed("resume") {
		var err error
		if unfinished, err = findUnfinished(cmd, &f, args); err != nil {
			return badInput(err)
		}
	}
	s, err := loadRun(cmd, f, args, unfinished)
	faults := []error{err, results.CheckDir("--out", f.out), results.CheckDir("--data-dir", f.dataDir), f.check(cmd)}
	var where place
	if err == nil {
		if where, err = findPlace(cmd.Context(), s, providerOf(s, unfinished), f); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return badInput(err)
	}
	if unfinished != nil {
		where.why = unfinished.ProviderWhy
		if err := sweepBefore(cmd, f, s, unfinished); err != nil {
			return err
		}
	}
	if f.dryRun {
		return dryRun(cmd.OutOrStdout(), s, where)
	}
	outcome, sig, err := execute(cmd, f, planOf(s), harness.Options{
		Spec: s, Tool: tool(), Provider: where.provider, ProviderWhy: where.why, Warnings: where.warnings, Open: where.open, Retries: s.Retries,
		Resume: unfinished, Profile: f.profile,
	})
	if err != nil {
		return err
	}
	return conclude(cmd, outcome.Dir, f.quiet, sig)
}

// execute runs o where the flags say, under their views, until a signal. The
// error holds the signal's exit code where one came.
func execute(cmd *cobra.Command, f runFlags, plan live.Plan, o harness.Options) (harness.Outcome, os.Signal, error) {
	w, err := startWatch(cmd, plan, f.watchFlags)
	if err != nil {
		return harness.Outcome{}, nil, err
	}
	defer w.close()
	if err := os.MkdirAll(f.dataDir, 0o755); err != nil {
		return harness.Outcome{}, nil, badInput(fmt.Errorf("--data-dir %s: %w", f.dataDir, err))
	}
	defer func() { _ = os.Remove(f.dataDir) }() // only where the run left it empty
	ctx, signalled, stop := untilSignal(cmd.Context())
	defer stop()
	o.Out, o.DataDir, o.CommandLine = f.out, f.dataDir, os.Args
	if o.Resume == nil {
		o.Estimate = plan.Total
	}
	w.attach(&o)
	unhook := context.AfterFunc(ctx, func() {
		w.board.Line("the trial is ended and what was measured is written; a second signal ends at once and leaves the rest to kbench clean")
	})
	outcome, err := harness.Run(ctx, o)
	unhook()
	w.leaveTerminal()
	if err == nil {
		w.finish(string(outcome.Manifest.Verdict), outcome.Dir)
	} else {
		w.finish("failed", "")
		err = errors.Join(err, signalExit(signalled()))
	}
	return outcome, signalled(), err
}

// conclude writes the reports of a finished run, prints the table and gives
// the exit code.
func conclude(cmd *cobra.Command, dir string, quiet bool, sig os.Signal) error {
	r, err := results.Open(dir)
	if err != nil {
		return err
	}
	rep, err := report.New(r)
	if err != nil {
		return err
	}
	// A reader that has seen enough changes no verdict.
	if err := printText(cmd.OutOrStdout(), rep.Text()); err != nil && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("print the result table: %w", err)
	}
	if !quiet {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%srun folder: %s\n", took(r.Manifest), dir)
	}
	written := writeReports(r, dir)
	if sig == nil {
		return verdict(r.Manifest.ExitCode(), written)
	}
	if written != nil {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "kbench: %v\n", written)
	}
	return signalExit(sig)
}

// took is a line with how long a run took beside what was expected; none where it
// was not expected to take its time.
func took(m results.Manifest) string {
	if m.EstimateNs <= 0 || m.Interrupted {
		return ""
	}
	return fmt.Sprintf("took %s, estimated %s\n", m.Ended.Sub(m.Started).Round(time.Second), time.Duration(m.EstimateNs).Round(time.Second))
}

// writeReports writes the reports into the run folder. The error says that the
// run is kept all the same.
func writeReports(r *results.Run, dir string) error {
	if err := report.Write(r, dir); err != nil {
		return fmt.Errorf("%w; what was measured is whole in %s: make room, then `kbench report %s`", err, dir, dir)
	}
	return nil
}

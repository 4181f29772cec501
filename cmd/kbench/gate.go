package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kbench/results"
	"kbench/results/gate"
	"kbench/results/history"
)

const gateLong = `Gate judges a run: by the thresholds of its spec and of --threshold, and with
--against by the nights before it.

A threshold is a bound of a statistic, for all cells or those before the colon:

  kraft: recovery.controller.median < 4s
  p99(propagation.last) < 50ms
  zk partitions=10k: creation.rate.min >= 2000/s
  controlled-shutdown.median < baseline + max(10%, 20ms)

The last form is missed by what is worse than the baseline by more than 10 % and
by more than 20 ms; baseline is the median over the nights of --against. One of
both may stand alone, as in baseline + 10%, and a rate is bounded from below, as
in creation.rate.median > baseline - max(10%, 50/s). A run leaves such
thresholds to its gate.

Against history every headline figure without such a threshold is compared with
the comparable nights since the last accepted change (same settings and
environment), the newest 20 of them. A regression is surely worse than one
further night would be (prediction interval and Mann-Whitney, one false alarm
in 100 nights over all figures), by at least --min-effect and --floor. With
fewer than 5 nights there is no baseline yet: absolute thresholds still decide,
and without any the run is not passed unless --allow-no-baseline is given.
Improvements are reported and never fail.

Exit codes: 0 passed, 1 a threshold missed or a regression, 2 usage or bad
input, 3 invalid or no data: a night that cannot be judged is no regression.`

// gateFlags are the flags of `kbench gate`.
type gateFlags struct {
	against         string
	thresholds      []string
	minEffect       string
	floor           time.Duration
	window          int
	allowNoBaseline bool
	junit, markdown string
	json            string
	annotations     string
}

func newGate() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use:   "gate RUN",
		Short: "Pass or fail a run by thresholds and against history",
		Long:  gateLong,
		Example: `  kbench gate kbench-results --against kbench-history
  kbench gate kbench-results --threshold 'kraft: recovery.controller.median < 4s'
  kbench gate kbench-results --against kbench-history --junit gate.xml --markdown "$GITHUB_STEP_SUMMARY" --annotations github
  kbench gate kbench-results --against kbench-history --annotations gitlab=gl-code-quality.json`,
		Args: exactly(1, "one run folder"),
		RunE: func(cmd *cobra.Command, args []string) error { return runGate(cmd, f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.against, "against", "", "history that the run is compared with: a file or the directory that holds it")
	fl.StringArrayVar(&f.thresholds, "threshold", nil, "a bound beside those of the spec (repeatable)")
	fl.StringVar(&f.minEffect, "min-effect", "5%", "smallest change that matters")
	fl.DurationVar(&f.floor, "floor", time.Millisecond, "smallest change of a duration that matters")
	fl.IntVar(&f.window, "window", 20, "nights of the baseline, 5 or more")
	fl.BoolVar(&f.allowNoBaseline, "allow-no-baseline", false, "pass a run that has nothing to be judged by yet: for the first nights")
	fl.StringVar(&f.junit, "junit", "", "write JUnit XML to this file")
	fl.StringVar(&f.markdown, "markdown", "", "write a summary in Markdown to this file")
	fl.StringVar(&f.json, "json", "", "write the verdict as JSON to this file")
	fl.StringVar(&f.annotations, "annotations", "", "annotations for a CI system: github (workflow commands, to stdout or github=FILE) or gitlab=FILE (code quality report)")
	return cmd
}

func runGate(cmd *cobra.Command, f gateFlags, path string) error {
	o, err := f.options()
	form, annotationFile, formErr := f.annotate()
	run, runErr := results.Open(path)
	log, logErr := f.history()
	if err := errors.Join(err, formErr, runErr, logErr); err != nil {
		return badInput(err)
	}
	r, err := gate.Judge(run, log, o)
	if err != nil {
		return badInput(err)
	}
	if log != nil {
		r.Notes = append(r.Notes, log.Notes...)
	}
	// The verdict stands before any file is written: a full disk hides no
	// regression.
	faults := []error{f.write(r)}
	text := r.Text()
	if form != nil {
		b, err := form(r)
		switch {
		case err != nil:
			faults = append(faults, err)
		case annotationFile == "":
			text += string(b)
		default:
			faults = append(faults, writeWhole("--annotations", annotationFile, b))
		}
	}
	if _, err := fmt.Fprint(cmd.OutOrStdout(), text); err != nil {
		faults = append(faults, fmt.Errorf("print the verdict: %w", err))
	}
	return verdict(r.ExitCode, errors.Join(faults...))
}

// options reads the flags that say how to judge. The error lists all faults.
func (f gateFlags) options() (gate.Options, error) {
	o := gate.Options{Floor: f.floor, Window: f.window, AllowNoBaseline: f.allowNoBaseline}
	var errs []error
	for _, text := range f.thresholds {
		t, err := results.ParseThreshold(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--threshold %q: %w", text, err))
			continue
		}
		o.Thresholds = append(o.Thresholds, t)
	}
	var err error
	if o.MinEffect, err = parseShare(f.minEffect); err != nil {
		errs = append(errs, fmt.Errorf("--min-effect %w", err))
	}
	if f.floor <= 0 || f.floor > time.Hour {
		errs = append(errs, fmt.Errorf("--floor %v: write over 0s and at most 1h", f.floor))
	}
	errs = append(errs, within("--window", f.window, gate.MinNights, 1000))
	return o, errors.Join(errs...)
}

// annotate reads --annotations: the form, and the file that gets it, empty for
// stdout. The form is nil where none is asked for.
func (f gateFlags) annotate() (form func(*gate.Report) ([]byte, error), file string, err error) {
	name, file, toFile := strings.Cut(f.annotations, "=")
	switch {
	case f.annotations == "":
		return nil, "", nil
	case toFile && file == "":
		return nil, "", fmt.Errorf("--annotations %s: no file after =", f.annotations)
	case name == "github":
		return func(r *gate.Report) ([]byte, error) { return r.GitHub(), nil }, file, nil
	case name == "gitlab" && !toFile:
		return nil, "", errors.New("--annotations gitlab: is a file that GitLab collects; write gitlab=gl-code-quality.json")
	case name == "gitlab":
		return (*gate.Report).GitLab, file, nil
	}
	return nil, "", fmt.Errorf("--annotations %s: unknown; write github or gitlab=FILE", f.annotations)
}

// history reads what --against names; nil where it is not given. A history
// that is not there yet is empty for the first nights.
func (f gateFlags) history() (*history.Log, error) {
	if f.against == "" {
		return nil, nil
	}
	if _, err := os.Stat(history.Locate(f.against)); f.allowNoBaseline && errors.Is(err, fs.ErrNotExist) {
		return &history.Log{Path: f.against}, nil
	}
	log, err := history.Read(f.against)
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	return log, nil
}

// write writes the forms that were asked for, each that can be.
func (f gateFlags) write(r *gate.Report) error {
	var faults []error
	for _, out := range []struct {
		flag, file string
		form       func() ([]byte, error)
	}{
		{"--junit", f.junit, r.JUnit},
		{"--markdown", f.markdown, func() ([]byte, error) { return []byte(r.Markdown()), nil }},
		{"--json", f.json, r.JSON},
	} {
		if out.file == "" {
			continue
		}
		b, err := out.form()
		if err == nil {
			err = writeWhole(out.flag, out.file, b)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// writeWhole writes a file that flag names, and leaves none behind that is cut
// short: readers of JUnit take an empty one for a run without tests.
func writeWhole(flag, file string, b []byte) error {
	err := os.WriteFile(file, b, 0o644)
	if err == nil {
		return nil
	}
	if info, statErr := os.Lstat(file); statErr == nil && info.Mode().IsRegular() {
		_ = os.Remove(file)
	}
	return fmt.Errorf("%s: %w; name a file that can be written", flag, err)
}

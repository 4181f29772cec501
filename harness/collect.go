package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kbench/harness/provider"
	"kbench/internal/nodemetrics"
	"kbench/internal/trace"
)

// collect copies the files of every node into the run folder, before anything
// is torn down, and puts their resource figures into metrics.jsonl.
func (run *cellRun) collect(ctx context.Context) error {
	if run.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	dir, err := run.w.NodesDir(run.stem())
	if err != nil {
		return err
	}
	var errs []error
	for _, proc := range append(run.cluster.processes(), run.cluster.store.nodes...) {
		if err := run.collectNode(ctx, proc, dir); err != nil {
			errs = append(errs, fmt.Errorf("collect the files of %s: %w", proc.Name(), err))
		}
	}
	return errors.Join(append(errs, run.w.Flush())...)
}

// cellMetric is a line of metrics.jsonl.
type cellMetric struct {
	Cell    string `json:"cell"`
	Repeat  int    `json:"repeat"`
	Attempt int    `json:"attempt,omitempty"` // at the repeat, where it was not the first
	nodemetrics.Sample
}

// takeTrace puts what a trace tells of the active controller into
// events.jsonl. Real nodes have no trace.
func (run *cellRun) takeTrace(path, node string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	events, err := trace.Read(f)
	run.rec.controllers(node, events)
	return err
}

func (run *cellRun) collectNode(ctx context.Context, proc provider.Node, dir string) error {
	run.takeRecording(ctx, proc, dir)
	if err := proc.Collect(ctx, dir); err != nil {
		return err
	}
	if err := run.takeTrace(filepath.Join(dir, proc.Name()+".trace.jsonl"), proc.Name()); err != nil {
		return err
	}
	path := filepath.Join(dir, proc.Name()+".metrics.jsonl")
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a JVM in a container that this kernel does not see
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		m := cellMetric{Cell: run.spec.ID, Repeat: run.repeat}
		if run.attempt > 1 {
			m.Attempt = run.attempt
		}
		if err := json.Unmarshal(sc.Bytes(), &m.Sample); err != nil {
			continue // the last line of a killed node may be torn
		}
		if err := run.w.Metric(m); err != nil {
			return err
		}
	}
	return os.Remove(path) // it is in metrics.jsonl now
}

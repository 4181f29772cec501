package simulated

import (
	"errors"
	"fmt"
	"time"

	"kbench/results"
)

// New makes the run in memory. Its events and metrics are not there.
func New(t Truth) (*results.Run, error) {
	d, err := t.draw()
	if err != nil {
		return nil, err
	}
	return results.NewRun(d.manifest, d.samples, d.hlogs...)
}

// Write makes the run as a folder in out and reads it back.
func Write(out string, t Truth) (*results.Run, error) {
	d, err := t.draw()
	if err != nil {
		return nil, err
	}
	w, err := results.Create(out, d.Name, d.Started)
	if err != nil {
		return nil, err
	}
	if err := d.write(w); err != nil {
		return nil, errors.Join(fmt.Errorf("simulate a run: %w", err), w.Abandon())
	}
	path, err := w.Commit(d.manifest)
	if err != nil {
		return nil, err
	}
	return results.Open(path)
}

func (d *drawing) write(w *results.Writer) error {
	d.ofTrial = make(map[int64][]int)
	for i, s := range d.samples {
		d.ofTrial[s.AtNs] = append(d.ofTrial[s.AtNs], i)
		if err := w.Sample(s); err != nil {
			return err
		}
	}
	for _, h := range d.hlogs {
		if err := w.Hlog(h.Cell, h.Name, h.Intervals); err != nil {
			return err
		}
	}
	for repeat := 1; repeat <= d.Repeats; repeat++ {
		for i := range d.manifest.Cells {
			c := &d.manifest.Cells[i]
			if err := d.writeEvents(w, c, repeat); err != nil {
				return err
			}
			if err := d.writeResources(w, c, repeat); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeEvents tells each trial as the harness does: the fault, the end of each
// phase, the trial's outcome, the cluster healthy again.
func (d *drawing) writeEvents(w *results.Writer, c *results.Cell, repeat int) error {
	for index, workload := range d.workloads() {
		for trial := 1; trial <= d.Trials; trial++ {
			start, node := d.atNs(c, repeat, index, trial), victim(workload, trial)
			end := start
			var events []results.Event
			add := func(ns int64, kind, node string, data map[string]any) {
				events = append(events, results.Event{
					MonoNs: ns, Wall: d.wall(ns), Cell: c.ID, Repeat: repeat, Workload: workload, Trial: trial,
					Kind: kind, Node: node, Data: data,
				})
			}
			if node != "" {
				add(start, "fault", node, map[string]any{"detail": "kill"})
			}
			for _, p := range d.phases(c, repeat, index, trial) {
				end = max(end, start+p.ns)
				add(start+p.ns, "phase", "", map[string]any{"detail": p.name})
			}
			why := d.why(c, repeat, trial, workload)
			data := map[string]any{"valid": why == "", "endNs": end}
			if how := wayOf(workload); how != "" {
				data["how"] = how
			}
			if why != "" {
				data["reason"] = why
			}
			add(start, "trial", node, data)
			add(end+int64(time.Second), "restored", node, map[string]any{"detail": "healthy and balanced"})
			for _, e := range events {
				if err := w.Event(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// wayOf is how a workload's fault comes, where there are several ways.
func wayOf(workload string) string {
	switch workload {
	case "controller-failover", "broker-failure":
		return "kill"
	}
	return ""
}

// endOfPhase is when a phase of a trial ended, from its start.
type endOfPhase struct {
	name string
	ns   int64
}

// phases reads the ends of a trial's phases from its samples. Phases of a
// recovery of the controller follow each other; others start with the fault.
func (d *drawing) phases(c *results.Cell, repeat, index, trial int) []endOfPhase {
	var out []endOfPhase
	var chain int64
	for _, i := range d.ofTrial[d.atNs(c, repeat, index, trial)] {
		s := d.samples[i]
		if s.Unit != results.Nanoseconds {
			continue
		}
		_, phase, _ := results.FindMetric(s.Metric)
		switch phase {
		case "detect", "elect", "load", "push":
			chain += int64(s.Value)
			out = append(out, endOfPhase{phase, chain})
		default:
			out = append(out, endOfPhase{phase, int64(s.Value)})
		}
	}
	return out
}

// resourceLine is a line of metrics.jsonl, as the harness writes it.
type resourceLine struct {
	Cell       string `json:"cell"`
	Repeat     int    `json:"repeat"`
	T          int64  `json:"t"`
	Node       string `json:"node"`
	CPUMs      int64  `json:"cpu_ms"`
	RSSBytes   int64  `json:"rss_bytes"`
	HeapBytes  int64  `json:"heap_bytes"`
	Goroutines int64  `json:"goroutines"`
	Written    int64  `json:"written_bytes"`
	DataBytes  int64  `json:"data_bytes"`
}

// resourceLines is how often a repeat's nodes are looked at.
const resourceLines = 5

func (d *drawing) writeResources(w *results.Writer, c *results.Cell, repeat int) error {
	if d.Resources == nil {
		return nil
	}
	heap, rss, log := d.Resources(Point{Target: c.Target, Variant: c.Variant, Partitions: c.Partitions, Repeat: repeat})
	start := d.atNs(c, repeat, 0, 1)
	for _, node := range []string{"broker-1", "broker-2", "broker-3", "controller-101", "controller-102", "controller-103"} {
		for i := range int64(resourceLines) {
			err := w.Metric(resourceLine{
				Cell: c.ID, Repeat: repeat, T: start + i*int64(d.span())/resourceLines, Node: node, CPUMs: 100 * (i + 1),
				RSSBytes: rss, HeapBytes: heap, Goroutines: 30, Written: log * i / (resourceLines - 1), DataBytes: log * i / (resourceLines - 1),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

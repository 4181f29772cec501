package harness

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/results"
	"kbench/workloads"
)

// recorder takes what the workloads of one cell measure and writes it into the
// run folder. It implements workloads.Recorder and is safe for concurrent use.
// A failed write is kept and judged when the cell ends.
type recorder struct {
	w      *results.Writer
	cell   string
	repeat int
	clock  wallClock

	mu       sync.Mutex
	workload string
	began    time.Time
	dists    map[string]*results.Recorder // by metric.phase, of the current workload
	order    []string
	acked    []checker.Operation
	faults   int // invalid trials
	valid    int
	err      error
}

func newRecorder(w *results.Writer, cell string, repeat int) *recorder {
	return &recorder{w: w, cell: cell, repeat: repeat, clock: newWallClock(), dists: map[string]*results.Recorder{}}
}

// begin says which workload the following records belong to.
func (r *recorder) begin(workload string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workload, r.began = workload, time.Now()
}

// end writes the histograms of the workload.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	byMetric := map[string][]results.Interval{}
	var metrics []string
	for _, name := range r.order {
		metric, phase := splitPhase(name)
		if !slices.Contains(metrics, metric) {
			metrics = append(metrics, metric)
		}
		byMetric[metric] = append(byMetric[metric], results.Interval{
			Tag: phase, Start: r.began, End: time.Now(), Dist: r.dists[name].Merged(),
		})
	}
	for _, metric := range metrics {
		name := fmt.Sprintf("%s.%s.%d", r.workload, metric, r.repeat)
		r.keep(r.w.Hlog(r.cell, name, byMetric[metric]))
	}
	r.dists, r.order = map[string]*results.Recorder{}, nil
}

func splitPhase(name string) (metric, phase string) {
	m, phase, err := results.FindMetric(name)
	if err != nil {
		return name, "all"
	}
	return m.Name, phase
}

// Histogram implements workloads.Recorder.
func (r *recorder) Histogram(metric, phase string) func(int64) {
	name := metric + "." + phase
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.dists[name]
	if !ok {
		d = results.NewRecorder(1)
		r.dists[name] = d
		r.order = append(r.order, name)
	}
	var one sync.Mutex
	return func(ns int64) {
		one.Lock()
		defer one.Unlock()
		d.Shard(0).Record(time.Duration(ns))
	}
}

// Trial implements workloads.Recorder.
func (r *recorder) Trial(t workloads.Trial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Valid {
		r.valid++
	} else {
		r.faults++
	}
	data := map[string]any{"how": t.How, "valid": t.Valid, "endNs": t.EndNs}
	if t.Reason != "" {
		data["reason"] = t.Reason
	}
	for _, c := range t.Counts {
		data[c.Name] = c.N
	}
	r.event(results.Event{
		MonoNs: t.StartNs, Workload: t.Workload, Trial: t.N, Kind: "trial", Node: nodeName(t.Victim), Data: data,
	})
	for _, v := range t.Values {
		m, _, err := results.FindMetric(v.Metric + "." + v.Phase)
		if err != nil {
			r.keep(err)
			continue
		}
		r.keep(r.w.Sample(results.Sample{
			Cell: r.cell, Workload: t.Workload, Repeat: r.repeat, Trial: t.N, Metric: v.Metric + "." + v.Phase,
			Value: v.V, Unit: m.Unit, AtNs: t.StartNs, Subject: nodeName(t.Victim), Valid: t.Valid, Reason: t.Reason,
		}))
	}
	r.keep(r.w.Flush())
}

// Event implements workloads.Recorder.
func (r *recorder) Event(e workloads.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event(results.Event{
		MonoNs: e.Ns, Workload: e.Workload, Trial: e.Trial, Kind: e.Kind, Node: nodeName(e.Node),
		Data: map[string]any{"detail": e.Detail},
	})
}

// Acked implements workloads.Recorder: the history from which verify proves
// that nothing was lost.
func (r *recorder) Acked(op workloads.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = append(r.acked, checker.Operation{
		Kind: checker.Kind(op.Kind), Topic: op.Topic, ID: op.TopicID, Partitions: op.Partitions,
		Outcome: checker.Acknowledged, AtNs: op.AckedNs,
	})
}

func (r *recorder) event(e results.Event) {
	e.Cell, e.Repeat = r.cell, r.repeat
	e.Wall = r.clock.at(e.MonoNs)
	r.keep(r.w.Event(e))
}

func (r *recorder) keep(err error) {
	if err != nil {
		r.err = errors.Join(r.err, err)
	}
}

// history gives what was acknowledged.
func (r *recorder) history() []checker.Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.acked)
}

// tally gives the counts of trials and the first failures to write.
func (r *recorder) tally() (valid, invalid int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.valid, r.faults, r.err
}

func nodeName(id kafka.BrokerID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprint(id)
}

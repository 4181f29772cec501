package harness

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"kbench/internal/checker"
	"kbench/internal/trace"
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
	dists    map[phaseName]*results.Distribution // of the current workload
	order    []phaseName
	shards   []*shard            // of what the current workload records
	told     []checker.Operation // what clients asked for and what they were told, bounded
	most     int                 // of told: maxTold
	// unanswered counts those of told without an answer.
	unanswered int
	// beyond has, once told is full, its topics, with whether they changed later.
	beyond map[string]bool
	late   int // operations that came when told was full
	faults int // invalid trials, but for those whose generator slipped
	slips  int
	valid  map[string]int    // valid trials by workload
	reason map[string]string // why the last invalid trial of a workload was one
	err    error
}

func newRecorder(w *results.Writer, cell string, repeat int) *recorder {
	return &recorder{w: w, cell: cell, repeat: repeat, clock: newWallClock(), most: maxTold, dists: map[phaseName]*results.Distribution{}, valid: map[string]int{}, reason: map[string]string{}}
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
		if !slices.Contains(metrics, name.metric) {
			metrics = append(metrics, name.metric)
		}
		byMetric[name.metric] = append(byMetric[name.metric], results.Interval{
			Tag: name.phase, Start: r.began, End: time.Now(), Dist: r.dists[name],
		})
	}
	for _, metric := range metrics {
		name := fmt.Sprintf("%s.%s.%d", r.workload, metric, r.repeat)
		r.keep(r.w.Hlog(r.cell, name, byMetric[metric]))
	}
	r.dists, r.order, r.shards = map[phaseName]*results.Distribution{}, nil, nil
}

// Histogram implements workloads.Recorder. Values are held back until their
// trial is known to be valid, in a shard of the function's own: those who record
// do not wait for each other. A shard takes 270 KB for as long as its trial, however
// many values there are.
func (r *recorder) Histogram(metric, phase string) func(int64) {
	s := &shard{name: phaseName{metric, phase}, held: results.NewRecorder(1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shards = append(r.shards, s)
	return s.hold
}

// phaseName is a phase of a metric, or raw material kept under its name.
type phaseName struct{ metric, phase string }

// shard holds the values of one recording function until its trial is over.
type shard struct {
	name phaseName

	mu   sync.Mutex
	held *results.Recorder // nil once its trial is over
}

func (s *shard) hold(ns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil { // recorded on in the next trial
		s.held = results.NewRecorder(1)
	}
	s.held.Shard(0).Record(time.Duration(ns))
}

// take gives what is held, nil for nothing, and holds nothing any more.
func (s *shard) take() *results.Distribution {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return nil
	}
	out := s.held.Merged()
	s.held = nil
	return out
}

// release records what was held back, where the trial is valid.
func (r *recorder) release(valid bool) {
	for _, s := range r.shards {
		held := s.take()
		if !valid || held == nil || held.Count() == 0 {
			continue
		}
		d, ok := r.dists[s.name]
		if !ok {
			r.dists[s.name] = held
			r.order = append(r.order, s.name)
			continue
		}
		r.keep(d.Merge(held)) // of one geometry
	}
}

// Trial implements workloads.Recorder.
func (r *recorder) Trial(t workloads.Trial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case t.Valid:
		r.valid[t.Workload]++
	case t.Slipped:
		r.slips++
	default:
		r.faults++
	}
	if !t.Valid {
		r.reason[t.Workload] = t.Reason
	}
	r.release(t.Valid)
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
		Data: eventData(e),
	})
}

func eventData(e workloads.Event) map[string]any {
	data := map[string]any{}
	if e.Detail != "" || len(e.Counts) == 0 {
		data["detail"] = e.Detail
	}
	for _, c := range e.Counts {
		data[c.Name] = c.N
	}
	return data
}

// controllers stores which node was the active controller and with which
// epoch, as the nodes' traces tell it.
func (r *recorder) controllers(node string, events []trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Traces name nodes controller-1001, events by the id alone.
	node = node[strings.LastIndexByte(node, '-')+1:]
	for _, e := range events {
		if e.Kind == trace.ControllerActive {
			r.event(results.Event{MonoNs: e.T, Kind: workloads.EventController, Node: node, Data: map[string]any{"epoch": e.Epoch}})
		}
	}
}

// Acked implements workloads.Recorder: the history from which verify proves
// that nothing was lost.
func (r *recorder) Acked(op workloads.Operation) { r.tell(op, checker.Acknowledged, 0) }

// Unanswered implements workloads.Recorder.
func (r *recorder) Unanswered(op workloads.Operation) { r.tell(op, checker.Unknown, 0) }

// Refused implements workloads.Recorder.
func (r *recorder) Refused(op workloads.Operation, code kafka.ErrorCode) {
	r.tell(op, checker.Refused, code)
}

// maxUnanswered bounds what is kept of changes without an answer: a stream that
// asks through a long outage has one for each request.
const maxUnanswered = 100_000

// maxTold bounds what is kept of changes: some 200 bytes each, and twice as much
// beside that while they are judged, which takes some 20 µs each on one processor:
// so many are decided well within the checker's 30 s.
const maxTold = 300_000

func (r *recorder) tell(op workloads.Operation, outcome checker.Outcome, code kafka.ErrorCode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if outcome == checker.Unknown {
		switch r.unanswered++; {
		case r.unanswered == maxUnanswered+1:
			r.keep(fmt.Errorf("more than %d changes had no answer: what they did cannot be judged", maxUnanswered))
			return
		case r.unanswered > maxUnanswered:
			return
		}
	}
	if len(r.told) >= r.most {
		r.tellLate(op.Topic)
		return
	}
	r.told = append(r.told, checker.Operation{
		Kind: checker.Kind(op.Kind), Topic: op.Topic, ID: op.TopicID, Partitions: op.Partitions,
		Config: op.Config, Value: op.Value, Outcome: outcome, Code: code, SentNs: op.SentNs, AtNs: op.AckedNs,
	})
}

// tellLate counts a change that is not kept any more. What a topic of those that are
// kept became by it is not known, so that none of that topic's can be judged.
func (r *recorder) tellLate(topic string) {
	if r.late++; r.late == 1 {
		r.beyond = map[string]bool{}
		for _, op := range r.told {
			r.beyond[op.Topic] = false
		}
	}
	if _, kept := r.beyond[topic]; kept {
		r.beyond[topic] = true
	}
}

func (r *recorder) event(e results.Event) {
	e.Cell, e.Repeat = r.cell, r.repeat
	e.Wall = r.clock.at(e.MonoNs)
	r.keep(r.w.Event(e))
}

// keep keeps the first failure: on a full disk every write after it fails too.
func (r *recorder) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

// flush hands what was recorded to the kernel, and reports whether the run folder
// takes it.
func (r *recorder) flush() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.w.Flush()
	r.keep(err)
	return err == nil
}

// history gives what clients asked for and what they were told, and how many more
// operations there were that it leaves out.
func (r *recorder) history() (told []checker.Operation, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told = slices.Clone(r.told)
	if r.late > 0 {
		told = slices.DeleteFunc(told, func(op checker.Operation) bool { return r.beyond[op.Topic] })
	}
	return told, len(r.told) - len(told) + r.late
}

// tally gives the counts of trials and the failures to write.
func (r *recorder) tally() (valid, invalid, slipped int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.valid {
		valid += n
	}
	return valid, r.faults, r.slips, r.err
}

// validTrials gives the valid trials of one workload, and why the last of the
// others was not one.
func (r *recorder) validTrials(workload string) (n int, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.valid[workload], r.reason[workload]
}

func nodeName(id kafka.BrokerID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprint(id)
}

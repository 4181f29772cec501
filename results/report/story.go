package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kbench/results"
)

// Bounds of what is kept of one cluster's life.
const (
	maxSpans  = 400
	maxSeries = 48
	maxBins   = 480
)

// timeline is what happened in one cluster, on one clock.
type timeline struct {
	cell       string
	repeat     int
	fromNs     int64 // of everything seen, CLOCK_MONOTONIC
	toNs       int64
	faults     []faultWindow
	workloads  []workSpan
	controller []controllerSince
	more       int // windows and changes beyond the bounds
	nodes      map[string]*nodeSeries
	order      []string // of the first maxSeries nodes
}

// faultWindow is a fault from its injection until the cluster was healthy
// again.
type faultWindow struct {
	workload string
	trial    int
	node     string
	how      string
	fromNs   int64
	endNs    int64 // of what its trial measured
	healedNs int64 // 0 where it is not told
	toNs     int64 // 0 while it is open
}

// workSpan is one workload from its first trial to its last.
type workSpan struct {
	workload     string
	trials       int
	fromNs, toNs int64
}

// controllerSince says that a node was the active controller from a time on.
type controllerSince struct {
	atNs  int64
	node  string
	epoch int64 // 0 where it is not told
}

// timelineOf finds or makes the timeline of a cell's repeat.
func (s *story) timelineOf(cell string, repeat int) *timeline {
	key := fmt.Sprintf("%d %s", repeat, cell)
	t := s.at[key]
	if t == nil {
		t = &timeline{cell: cell, repeat: repeat, nodes: make(map[string]*nodeSeries)}
		s.at[key] = t
		s.all = append(s.all, t)
	}
	return t
}

// saw widens the timeline.
func (t *timeline) saw(ns int64) {
	if ns <= 0 {
		return
	}
	if t.fromNs == 0 || ns < t.fromNs {
		t.fromNs = ns
	}
	t.toNs = max(t.toNs, ns)
}

// story gathers the timelines and sums while events and metrics go by.
type story struct {
	known      map[string]bool // cells
	at         map[string]*timeline
	all        []*timeline
	how        map[string][]string
	operations map[streamKey]*Operations
	ops        []*Operations
	outages    map[outageKey]Outages
	use        map[[2]string]*NodeUse
	used       []*NodeUse
	excluded   []Excluded // invalid trials, of which those of histograms have no sample
	underWay   map[curveKey]*trialCurve
	curves     []*trialCurve // of valid trials
	curvesMore int           // valid trials beyond the bounds
	steps      int           // of curves
}

// takeStory reads events.jsonl and metrics.jsonl. A run in memory has none.
func (rep *Report) takeStory(r *results.Run) error {
	if r.Dir == "" {
		return nil
	}
	s := &story{
		known: make(map[string]bool), at: make(map[string]*timeline), how: make(map[string][]string),
		operations: make(map[streamKey]*Operations), outages: make(map[outageKey]Outages), use: make(map[[2]string]*NodeUse), underWay: make(map[curveKey]*trialCurve),
	}
	for _, c := range rep.Run.Cells {
		s.known[c.ID] = true
	}
	if err := r.EachEvent(s.event); err != nil {
		return err
	}
	if err := r.EachResource(s.resource); err != nil {
		return err
	}
	for _, e := range s.excluded {
		rep.exclude(e)
	}
	rep.nothingValid()
	for workload, ways := range s.how {
		if rep.How == nil {
			rep.How = make(map[string]string)
		}
		rep.How[workload] = strings.Join(ways, ", ")
	}
	for _, o := range s.ops {
		rep.Operations = append(rep.Operations, *o)
	}
	for _, u := range s.used {
		rep.Resources = append(rep.Resources, *u)
	}
	place := make(map[string]int)
	for i, c := range rep.Run.Cells {
		place[c.ID] = i
	}
	slices.SortFunc(rep.Resources, func(a, b NodeUse) int {
		return cmp.Or(cmp.Compare(place[a.Cell], place[b.Cell]), cmp.Compare(a.Node, b.Node))
	})
	for _, t := range s.all {
		t.settle()
	}
	slices.SortStableFunc(s.all, func(a, b *timeline) int {
		return cmp.Or(cmp.Compare(place[a.cell], place[b.cell]), cmp.Compare(a.repeat, b.repeat))
	})
	rep.timelines = s.all
	rep.Outages = s.sumOutages(place)
	rep.Availability, rep.AvailabilityMore = s.availabilities(place), s.curvesMore
	return nil
}

// event takes one line of events.jsonl. Kinds it does not know only tell that
// the cluster lived.
func (s *story) event(e results.Event) error {
	if !s.known[e.Cell] {
		return nil
	}
	t := s.timelineOf(e.Cell, e.Repeat)
	t.saw(e.MonoNs)
	detail, _ := e.Data["detail"].(string)
	switch e.Kind {
	case "fault":
		t.bounded(len(t.faults), func() {
			t.faults = append(t.faults, faultWindow{workload: e.Workload, trial: e.Trial, node: e.Node, how: detail, fromNs: e.MonoNs})
		})
	case "healed", "restored":
		t.undone(e)
	case "controller":
		t.active(e.MonoNs, e.Node, int64(number(e.Data["epoch"])))
	case "phase":
		// Folders from before there were controller events tell it so.
		var epoch int64
		if _, err := fmt.Sscanf(detail, "active, epoch %d", &epoch); err == nil {
			t.active(e.MonoNs, "", epoch)
		}
	case "availability":
		s.step(e)
	case "trial":
		s.trial(t, e)
		s.endCurve(e)
	case "attempt.dropped":
		s.dropCurves(e.Cell, e.Repeat)
		s.dropOutages(e.Cell, e.Repeat)
	}
	return nil
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// bounded counts what there is no room for.
func (t *timeline) bounded(n int, add func()) {
	if n < maxSpans {
		add()
	} else {
		t.more++
	}
}

// endOf begins the detail of events that end a fault among several under way; what
// follows is the detail of its begin.
const endOf = "end of "

// undone ends the window of the fault that an event speaks of: the one that it
// names, else the last of its trial.
func (t *timeline) undone(e results.Event) {
	detail, _ := e.Data["detail"].(string)
	how, named := strings.CutPrefix(detail, endOf)
	for i := len(t.faults) - 1; i >= 0; i-- {
		w := &t.faults[i]
		if w.workload != e.Workload || w.trial != e.Trial || w.toNs != 0 || named && w.how != how {
			continue
		}
		if e.Kind == "healed" {
			w.healedNs = e.MonoNs
		} else {
			w.toNs = e.MonoNs
		}
		return
	}
}

func (t *timeline) active(ns int64, node string, epoch int64) {
	t.bounded(len(t.controller), func() { t.controller = append(t.controller, controllerSince{ns, node, epoch}) })
}

// trial takes the outcome of a trial: its span, its way, its generators.
func (s *story) trial(t *timeline, e results.Event) {
	if valid, told := e.Data["valid"].(bool); told && !valid {
		reason, _ := e.Data["reason"].(string)
		s.excluded = append(s.excluded, Excluded{e.Cell, e.Workload, e.Repeat, e.Trial, e.Node, reason})
	}
	end := int64(number(e.Data["endNs"]))
	t.saw(end)
	for j := len(t.faults) - 1; j >= 0; j-- {
		if w := &t.faults[j]; w.workload == e.Workload && w.trial == e.Trial && w.fromNs == e.MonoNs {
			w.endNs = end
			break
		}
	}
	i := slices.IndexFunc(t.workloads, func(w workSpan) bool { return w.workload == e.Workload })
	if i < 0 {
		i = len(t.workloads)
		t.workloads = append(t.workloads, workSpan{workload: e.Workload, fromNs: e.MonoNs})
	}
	w := &t.workloads[i]
	w.trials++
	w.fromNs, w.toNs = min(w.fromNs, e.MonoNs), max(w.toNs, end, e.MonoNs)
	if how, _ := e.Data["how"].(string); how != "" && !slices.Contains(s.how[e.Workload], how) {
		s.how[e.Workload] = append(s.how[e.Workload], how)
	}
	s.takeOperations(e)
	s.takeOutages(e)
}

// settle orders what came and merges what says the same.
func (t *timeline) settle() {
	slices.SortFunc(t.workloads, func(a, b workSpan) int { return cmp.Compare(a.fromNs, b.fromNs) })
	slices.SortFunc(t.faults, func(a, b faultWindow) int { return cmp.Compare(a.fromNs, b.fromNs) })
	slices.SortStableFunc(t.controller, func(a, b controllerSince) int { return cmp.Compare(a.atNs, b.atNs) })
	var out []controllerSince
	for _, c := range t.controller {
		if n := len(out); n > 0 {
			last := &out[n-1]
			same := last.node == c.node || c.node == "" || last.node == ""
			if same && (last.epoch == c.epoch || c.epoch == 0 || last.epoch == 0) {
				last.node, last.epoch = cmp.Or(last.node, c.node), cmp.Or(last.epoch, c.epoch)
				continue
			}
		}
		out = append(out, c)
	}
	t.controller = out
	slices.Sort(t.order)
}

package live

import (
	"fmt"
	"math"
	"strings"
	"time"

	"kbench/harness"
	"kbench/results"
)

// ItemKind says what an Item tells.
type ItemKind string

// The kinds of Item.
const (
	ItemSaid       ItemKind = "said"       // a line of the harness: Text
	ItemStep       ItemKind = "step"       // a cell, workload or trial began: Text
	ItemTrial      ItemKind = "trial"      // a trial is over: all fields but Node and Epoch
	ItemSample     ItemKind = "sample"     // the headline so far: Metric, N, Value (the median), P99
	ItemFault      ItemKind = "fault"      // a node is under a fault: Node, Text
	ItemHealed     ItemKind = "healed"     // a fault was undone: Node
	ItemController ItemKind = "controller" // another controller is active: Node, Epoch
)

// Item is one thing that happened. Values are in seconds, or per second.
type Item struct {
	Seq    int64 // from 1
	At     time.Duration
	Kind   ItemKind
	Text   string
	Target string
	Cell   string
	Metric string
	Unit   results.Unit
	N      int64   // trial: its number; sample: how many values
	Value  float64 // NaN where there is none
	P99    float64 // NaN where N does not support it
	Valid  bool
	Node   int32
	Epoch  int32
}

// maxItems bounds what a board remembers. The oldest is forgotten first.
const maxItems = 16384

// itemLog is the last of what happened, oldest first.
type itemLog struct {
	seq   int64
	items []Item // a ring once it is full
}

func (l *itemLog) add(i Item) {
	l.seq++
	i.Seq = l.seq
	if len(l.items) < maxItems {
		l.items = append(l.items, i)
		return
	}
	l.items[(l.seq-1)%maxItems] = i
}

func (l *itemLog) after(seq int64, limit int) (out []Item, forgotten int64) {
	first := l.seq - int64(len(l.items)) + 1
	if seq+1 < first {
		forgotten = first - seq - 1
		seq = first - 1
	}
	for n := seq + 1; n <= l.seq && len(out) < limit; n++ {
		out = append(out, l.items[(n-1)%maxItems])
	}
	return out, forgotten
}

// sampleInterval is how often the headline so far becomes an item at most.
const sampleInterval = time.Second

// heeded turns updates into items: what was seen last, to notice what is new.
type heeded struct {
	last    harness.Progress
	step    string
	sampled time.Duration
	sampleN int64
}

func (h *heeded) follow(l *itemLog, p harness.Progress, at time.Duration) {
	h.faults(l, p, at)
	if p.Controller != h.last.Controller && p.Controller.ID != 0 {
		l.add(Item{At: at, Kind: ItemController, Target: p.Target, Node: int32(p.Controller.ID), Epoch: p.Controller.Epoch})
	}
	if p.Trial != nil {
		l.add(trialItem(p, at))
	}
	if step := Step(p); step != h.step {
		h.step = step
		l.add(Item{At: at, Kind: ItemStep, Text: step, Target: p.Target, Cell: p.ID})
	}
	s := p.Headline
	if s.N > 0 && (s.N != h.sampleN || s.Metric != h.last.Headline.Metric) && at-h.sampled >= sampleInterval {
		h.sampled, h.sampleN = at, s.N
		l.add(Item{
			At: at, Kind: ItemSample, Target: p.Target, Cell: p.ID, Metric: s.Metric, Unit: s.Unit, N: s.N,
			Value: inUnit(s.P50, s.Unit), P99: inUnit(s.P99, s.Unit),
		})
	}
	h.last = p
}

// faults notices those that are new and those that are gone. A cell's end ends
// its faults with its nodes.
func (h *heeded) faults(l *itemLog, p harness.Progress, at time.Duration) {
	has := func(list []harness.ActiveFault, f harness.ActiveFault) bool {
		for _, o := range list {
			if o == f {
				return true
			}
		}
		return false
	}
	for _, f := range h.last.Faults {
		if p.Cell != h.last.Cell || !has(p.Faults, f) {
			l.add(Item{At: at, Kind: ItemHealed, Target: h.last.Target, Node: int32(f.Node)})
		}
	}
	for _, f := range p.Faults {
		if p.Cell != h.last.Cell || !has(h.last.Faults, f) {
			l.add(Item{At: at, Kind: ItemFault, Target: p.Target, Node: int32(f.Node), Text: string(f.Fault)})
		}
	}
}

// trialItem tells of a trial by the headline of its workload: its own value
// where it has one, else the median of the many that it gave.
func trialItem(p harness.Progress, at time.Duration) Item {
	t, s := p.Trial, p.Headline
	i := Item{
		At: at, Kind: ItemTrial, Target: p.Target, Cell: p.ID, Metric: s.Metric, Unit: s.Unit,
		N: int64(t.N), Value: math.NaN(), P99: math.NaN(), Valid: t.Valid,
	}
	for _, v := range t.Values {
		if v.Metric+"."+v.Phase == s.Metric {
			i.Value = inUnit(v.V, s.Unit)
		}
	}
	if math.IsNaN(i.Value) && s.N > 0 {
		i.Value, i.P99 = inUnit(s.P50, s.Unit), inUnit(s.P99, s.Unit)
	}
	i.Text = fmt.Sprintf("%s trial %d", t.Workload, t.N)
	if !t.Valid {
		i.Text += " is invalid: " + strings.ReplaceAll(t.Reason, "\n", "; ")
	}
	return i
}

// inUnit turns nanoseconds into seconds and leaves rates.
func inUnit(v float64, u results.Unit) float64 {
	if u == results.Nanoseconds {
		return v / float64(time.Second)
	}
	return v
}

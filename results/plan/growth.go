package plan

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"kbench/results"
)

// usage is what one node of a cell held at most in one repeat, in bytes.
type usage struct {
	node            string
	repeat          int
	rss, heap, data float64
}

// attempt is one cluster that was built for a cell.
type attempt struct {
	cell            string
	repeat, attempt int
}

// readUsage reads the nodes' peaks by cell. A run in memory has none.
func readUsage(r *results.Run) (map[string][]usage, error) {
	if r.Dir == "" {
		return nil, nil
	}
	dropped := make(map[attempt]bool)
	for _, c := range r.Manifest.Cells {
		for _, a := range c.Attempts {
			dropped[attempt{c.ID, a.Repeat, a.Number}] = a.Dropped != ""
		}
	}
	type key struct {
		cell, node string
		repeat     int
	}
	most := make(map[key]*usage)
	err := r.EachResource(func(l results.Resource) error {
		if dropped[attempt{l.Cell, l.Repeat, max(l.Attempt, 1)}] {
			return nil
		}
		k := key{l.Cell, l.Node, l.Repeat}
		if most[k] == nil {
			most[k] = &usage{node: l.Node, repeat: l.Repeat}
		}
		u := most[k]
		u.rss, u.heap, u.data = max(u.rss, float64(l.RSSBytes)), max(u.heap, float64(l.HeapBytes)), max(u.data, float64(l.DataBytes))
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := make(map[string][]usage)
	for k, u := range most {
		out[k.cell] = append(out[k.cell], *u)
	}
	return out, nil
}

// role is what a node is: broker-2 is a broker.
func role(node string) string {
	r, _, _ := strings.Cut(node, "-")
	return r
}

// resource is something that a node holds.
type resource struct {
	name string
	of   func(usage) float64
}

var resources = []resource{
	{"rss", func(u usage) float64 { return u.rss }},
	{"heap", func(u usage) float64 { return u.heap }},
	{"data", func(u usage) float64 { return u.data }},
}

// growth fits what the nodes of a series hold: of each role and repeat the
// largest node, since that is what a machine must be bought for. It is the
// peak of the whole cell, its trials and topics of workloads included.
func (se *series) growth() []*ladder {
	var out []*ladder
	for _, who := range se.roles() {
		for _, res := range resources {
			l := &ladder{side: se.label, name: who + " " + res.name, metric: "growth." + who + "." + res.name, stat: "peak", unit: results.Bytes, better: results.Lower, series: se}
			rungs := se.held(who, res)
			if len(rungs) == 0 || !slices.ContainsFunc(rungs, func(r rung) bool { return slices.Max(r.values) > 0 }) {
				continue // it keeps no such thing
			}
			l.take(rungs, results.StatMedian)
			l.doFit()
			out = append(out, l)
		}
	}
	return out
}

// roles lists the roles of the nodes, sorted.
func (se *series) roles() []string {
	roles := make(map[string]bool)
	for _, m := range se.cells {
		for _, u := range m.run.usage[m.cell.ID] {
			roles[role(u.node)] = true
		}
	}
	return slices.Sorted(maps.Keys(roles))
}

// held is the largest node of the role in each repeat, by rung.
func (se *series) held(who string, res resource) []rung {
	var out []rung
	for _, m := range se.cells {
		most := make(map[int]float64)
		for _, u := range m.run.usage[m.cell.ID] {
			if role(u.node) == who {
				most[u.repeat] = max(most[u.repeat], res.of(u))
			}
		}
		if len(most) == 0 {
			continue
		}
		if len(out) == 0 || out[len(out)-1].partitions != m.cell.Partitions {
			out = append(out, rung{partitions: m.cell.Partitions})
		}
		r := &out[len(out)-1]
		for _, repeat := range slices.Sorted(maps.Keys(most)) {
			r.values = append(r.values, most[repeat])
		}
		r.runs = append(r.runs, m.run.Manifest.ID)
	}
	return out
}

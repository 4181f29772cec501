package spec

import (
	"fmt"
	"time"

	"kbench/workloads"
)

// Workload is one entry of the workloads list: a kind and its parameters, with
// the defaults of the kind filled in. Replication and PartitionsPerTopic stay
// zero where they are not written; a Cell fills in its cluster's.
type Workload struct {
	Kind   string
	Params workloads.Params

	at Place
}

// Severs reports whether the workload cuts links between nodes.
func (w Workload) Severs() bool { return workloads.Fault(w.Params.How).Severs() }

// workloadKind is what one kind of workload may hold, in the terms of specs.
type workloadKind struct {
	name   string
	doc    string
	params []param[workloads.Params]
}

// workloadKinds follows the registry of package workloads.
var workloadKinds = func() []workloadKind {
	var out []workloadKind
	for _, w := range workloads.All() {
		k := workloadKind{name: w.Kind, doc: w.Doc}
		for _, p := range w.Params {
			k.params = append(k.params, paramOf(p))
		}
		out = append(out, k)
	}
	return out
}()

// paramOf gives a parameter of the registry the type that specs write.
func paramOf(p workloads.Param) param[workloads.Params] {
	field := p.Field()
	switch field(new(workloads.Params)).(type) {
	case *string:
		if p.Check != nil {
			return text(p.Name, p.Doc, p.Check, field)
		}
		return enum(p.Name, p.Doc, field, p.Choices...)
	case *time.Duration:
		return duration(p.Name, must(parseDuration(p.Min)), must(parseDuration(p.Max)), p.Doc, field)
	case *float64:
		return rate(p.Name, must(parseRate(p.Min+"/s")), must(parseRate(p.Max+"/s")), p.Doc, field)
	default:
		return count(p.Name, must(parseCount(p.Min)), must(parseCount(p.Max)), p.Doc, field)
	}
}

// must unwraps what package workloads' table says of itself.
func must[T any](v T, err error) T {
	if err != nil {
		panic("spec: table of workload parameters: " + err.Error())
	}
	return v
}

// WorkloadKinds lists the kinds of workload with a line on each.
func WorkloadKinds() (names, docs []string) {
	for _, k := range workloadKinds {
		names, docs = append(names, k.name), append(docs, k.doc)
	}
	return names, docs
}

func workloadKindOf(name string) (workloadKind, bool) {
	for _, k := range workloadKinds {
		if k.name == name {
			return k, true
		}
	}
	return workloadKind{}, false
}

// has reports whether the kind takes the parameter.
func (k workloadKind) has(path string) bool {
	for _, p := range k.params {
		if p.path == path {
			return true
		}
	}
	return false
}

// fill takes what is not written from the spec's trials and from the kind's
// defaults. What a cluster decides stays zero.
func (w *Workload) fill(trials int) error {
	k, _ := workloadKindOf(w.Kind)
	if w.Params.Trials == 0 && k.has("trials") {
		w.Params.Trials = trials
	}
	kind, err := workloads.Lookup(w.Kind)
	if err != nil {
		return err
	}
	written := w.Params
	if w.Params, err = kind.Resolve(written); err != nil {
		return fmt.Errorf("fill in defaults: %w", err)
	}
	w.Params.Replication, w.Params.PartitionsPerTopic = written.Replication, written.PartitionsPerTopic
	return nil
}

// in gives the workload what its cluster decides.
func (w Workload) in(c Cluster) Workload {
	k, _ := workloadKindOf(w.Kind)
	if w.Params.Replication == 0 && k.has("replication") {
		w.Params.Replication = c.Replication
	}
	if w.Params.PartitionsPerTopic == 0 && k.has("partitionsPerTopic") {
		w.Params.PartitionsPerTopic = c.PartitionsPerTopic
	}
	return w
}

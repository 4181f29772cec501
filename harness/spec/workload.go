package spec

import (
	"time"
)

// Workload is one entry of the workloads list: a kind and its parameters, with
// the defaults of the kind filled in. Parameters that a kind does not have are
// zero.
type Workload struct {
	Kind string
	How  string // how the fault is made: kill, pause, resign

	Trials   int           // injected events
	Rate     float64       // operations per second
	Duration time.Duration // of a workload without trials

	ProbeRate       float64 // probes per second and broker
	ProbePartitions int     // seeded sample of partitions probed

	at Place
}

// workloadKind is what one kind of workload may hold.
type workloadKind struct {
	name     string
	doc      string
	params   []param[Workload]
	defaults Workload
}

var (
	trialsParam    = count("trials", 1, 10_000, "injected events", func(w *Workload) any { return &w.Trials })
	rateParam      = rate("rate", 0.01, 100_000, "operations per second, open loop", func(w *Workload) any { return &w.Rate })
	durationParam  = duration("duration", time.Second, 24*time.Hour, "how long", func(w *Workload) any { return &w.Duration })
	probeRate      = rate("probe.rate", 1, 100_000, "probes per second of each broker", func(w *Workload) any { return &w.ProbeRate })
	probeSample    = count("probe.partitions", 1, 10_000, "partitions in the seeded sample that probes follow", func(w *Workload) any { return &w.ProbePartitions })
	howKillPause   = enum("how", "how the fault is made", func(w *Workload) any { return &w.How }, "kill", "pause")
	howKillOrClean = enum("how", "how the active controller goes", func(w *Workload) any { return &w.How }, "kill", "pause", "resign")
)

// workloadKinds are the kinds, in the order of documents.
var workloadKinds = []workloadKind{
	{
		name: "create-topics", doc: "create the cell's partitions and measure the rate",
		params: []param[Workload]{trialsParam},
	},
	{
		name: "controlled-shutdown", doc: "stop a broker with SIGTERM",
		params:   []param[Workload]{trialsParam, probeRate, probeSample},
		defaults: Workload{ProbeRate: 200, ProbePartitions: 64},
	},
	{
		name: "broker-failure", doc: "kill a broker",
		params:   []param[Workload]{howKillPause, trialsParam, probeRate, probeSample},
		defaults: Workload{How: "kill", ProbeRate: 200, ProbePartitions: 64},
	},
	{
		name: "controller-failover", doc: "kill, pause or resign the active controller",
		params:   []param[Workload]{howKillOrClean, trialsParam, probeRate, probeSample},
		defaults: Workload{How: "kill", ProbeRate: 200, ProbePartitions: 64},
	},
	{
		name: "propagation", doc: "change metadata at a rate and watch every broker serve it",
		params:   []param[Workload]{rateParam, durationParam, probeRate, probeSample},
		defaults: Workload{Rate: 20, Duration: 10 * time.Second, ProbeRate: 200, ProbePartitions: 64},
	},
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

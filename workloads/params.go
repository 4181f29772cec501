package workloads

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Params are the parameters of one workload. Zero takes the kind's default; a
// parameter that the kind does not have must stay zero.
type Params struct {
	How      string        // how the fault is made
	Trials   int           // injected events
	Rate     float64       // operations per second, open loop
	Duration time.Duration // of a workload without trials

	ProbeRate       float64 // probes per second and broker
	ProbePartitions int     // seeded sample of partitions that probes follow

	Partitions         int // create-topics: partitions to create in each trial
	PartitionsPerTopic int // of topics that are created
	Replication        int // of topics that are created; at most the brokers there are

	// TrialTimeout bounds the wait for a trial's recovery and each health
	// gate; a trial that exceeds it is invalid.
	TrialTimeout time.Duration
}

// Param documents and bounds one parameter of a kind.
type Param struct {
	Name     string // as in a spec: how, trials, rate, duration, probe.rate, ...
	Doc      string
	Default  string
	Min, Max string   // both "" for a choice
	Choices  []string // of how

	field func(*Params) any // *string, *int, *float64 or *time.Duration
}

func howParam(choices ...string) Param {
	return Param{
		Name: "how", Doc: "how the fault is made", Default: choices[0], Choices: choices,
		field: func(p *Params) any { return &p.How },
	}
}

func trialsParam(n string) Param {
	return Param{
		Name: "trials", Doc: "injected events", Default: n, Min: "1", Max: "10000",
		field: func(p *Params) any { return &p.Trials },
	}
}

var (
	rateParam = Param{
		Name: "rate", Doc: "operations per second, open loop", Default: "20", Min: "0.01", Max: "100000",
		field: func(p *Params) any { return &p.Rate },
	}
	durationParam = Param{
		Name: "duration", Doc: "how long operations are due", Default: "10s", Min: "100ms", Max: "24h",
		field: func(p *Params) any { return &p.Duration },
	}
	probeRateParam = Param{
		Name: "probe.rate", Doc: "probes per second of each broker; its period bounds the resolution", Default: "200", Min: "1", Max: "100000",
		field: func(p *Params) any { return &p.ProbeRate },
	}
	probePartitionsParam = Param{
		Name: "probe.partitions", Doc: "partitions in the seeded sample that probes follow", Default: "64", Min: "1", Max: "10000",
		field: func(p *Params) any { return &p.ProbePartitions },
	}
	partitionsParam = Param{
		Name: "partitions", Doc: "partitions to create", Default: "1000", Min: "1", Max: "10000000",
		field: func(p *Params) any { return &p.Partitions },
	}
	perTopicParam = Param{
		Name: "partitionsPerTopic", Doc: "partitions of each topic created", Default: "100", Min: "1", Max: "9000",
		field: func(p *Params) any { return &p.PartitionsPerTopic },
	}
	replicationParam = Param{
		Name: "replication", Doc: "replicas of each partition created", Default: "3", Min: "1", Max: "100",
		field: func(p *Params) any { return &p.Replication },
	}
	timeoutParam = Param{
		Name: "trialTimeout", Doc: "bound of a recovery and of each health gate", Default: "5m", Min: "100ms", Max: "24h",
		field: func(p *Params) any { return &p.TrialTimeout },
	}
)

// everyParam is all parameters there are, to find those set without need.
var everyParam = []Param{
	howParam(""), trialsParam("1"), rateParam, durationParam, probeRateParam, probePartitionsParam,
	partitionsParam, perTopicParam, replicationParam, timeoutParam,
}

// Resolve fills in the kind's defaults and checks every parameter; the error
// has one line for each that is wrong.
func (w Workload) Resolve(p Params) (Params, error) {
	var errs []error
	for _, known := range everyParam {
		i := slices.IndexFunc(w.Params, func(q Param) bool { return q.Name == known.Name })
		if i < 0 {
			if !known.isZero(&p) {
				errs = append(errs, fmt.Errorf("%s has no parameter %s; leave it out", w.Kind, known.Name))
			}
			continue
		}
		if err := w.Params[i].resolve(&p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", w.Kind, known.Name, err))
		}
	}
	return p, errors.Join(errs...)
}

func (q Param) isZero(p *Params) bool {
	switch v := q.field(p).(type) {
	case *string:
		return *v == ""
	case *int:
		return *v == 0
	case *float64:
		return *v == 0
	case *time.Duration:
		return *v == 0
	}
	return true
}

func (q Param) resolve(p *Params) error {
	zero := q.isZero(p)
	switch v := q.field(p).(type) {
	case *string:
		if zero {
			*v = q.Default
		}
		if !slices.Contains(q.Choices, *v) {
			return fmt.Errorf("%q is none of %s", *v, strings.Join(q.Choices, ", "))
		}
	case *int:
		if zero {
			*v = parsed[int](q.Default)
		}
		return within(*v, parsed[int](q.Min), parsed[int](q.Max))
	case *float64:
		if zero {
			*v = parsed[float64](q.Default)
		}
		if math.IsNaN(*v) {
			return errors.New("is not a number")
		}
		return within(*v, parsed[float64](q.Min), parsed[float64](q.Max))
	case *time.Duration:
		if zero {
			*v = mustDuration(q.Default)
		}
		return within(*v, mustDuration(q.Min), mustDuration(q.Max))
	}
	return nil
}

func within[T int | float64 | time.Duration](v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("%v is not within %v and %v", v, low, high)
	}
	return nil
}

// parsed reads a number of the tables above.
func parsed[T int | float64](s string) (v T) {
	if _, err := fmt.Sscan(s, &v); err != nil {
		panic("workloads: parameter table: " + s)
	}
	return v
}

func mustDuration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic("workloads: parameter table: " + s)
	}
	return d
}

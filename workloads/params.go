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

	Arrival string  `json:",omitempty"` // how operations come: constant, poisson, ramp or steps
	RateTo  float64 `json:",omitempty"` // ramp, steps: the last rate, per second
	Steps   int     `json:",omitempty"` // steps: how many

	ProbeRate       float64 // probes per second and broker
	ProbePartitions int     // seeded sample of partitions that probes follow

	Partitions         int // create-topics: partitions to create in each trial
	PartitionsPerTopic int // of topics that are created
	Replication        int // of topics that are created; at most the brokers there are

	Away    time.Duration `json:",omitempty"` // how long a node is away
	Data    string        `json:",omitempty"` // broker-join: what is left of the broker's data
	Kills   int           `json:",omitempty"` // controllers lost one after the other in each trial
	Limit   time.Duration `json:",omitempty"` // max-rate: what 99 of 100 changes must keep
	Weights string        `json:",omitempty"` // mixed: operations and their shares

	ProduceRate  float64 `json:",omitempty"` // records per second beside the load
	ProduceBytes int     `json:",omitempty"` // of each record
	Producer     string  `json:",omitempty"` // which client produces

	// TrialTimeout bounds the wait for a trial's recovery and each health
	// gate; a trial that exceeds it is invalid.
	TrialTimeout time.Duration
}

// Events is how many trials a workload records where none is lost: one at least,
// and one for each controller of a row that is lost one after the other.
func (p Params) Events() int { return max(p.Trials, 1) * max(p.Kills, 1) }

// Param documents and bounds one parameter of a kind.
type Param struct {
	Name     string // as in a spec: how, trials, rate, duration, probe.rate, ...
	Doc      string
	Default  string             // "" for none: a zero value then means something
	Min, Max string             // both "" for a choice and for text
	Choices  []string           // of a choice
	Check    func(string) error // of text

	field func(*Params) any // *string, *int, *float64 or *time.Duration
}

// Field is where Params keep the parameter: a *string, *int, *float64 or
// *time.Duration.
func (q Param) Field() func(*Params) any { return q.field }

// or gives the parameter another default.
func (q Param) or(value string) Param {
	q.Default = value
	return q
}

// says gives the parameter another line of documentation.
func (q Param) says(doc string) Param {
	q.Doc = doc
	return q
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
	arrivalParam = Param{
		Name: "arrival", Doc: "how operations come: evenly, at random (seeded), or at a rate that goes to rateTo evenly or in steps",
		Default: arrivalConstant, Choices: []string{arrivalConstant, arrivalPoisson, arrivalRamp, arrivalSteps},
		field: func(p *Params) any { return &p.Arrival },
	}
	rateToParam = Param{
		Name: "rateTo", Doc: "the last rate of a ramp or of steps", Min: "0.01", Max: "100000",
		field: func(p *Params) any { return &p.RateTo },
	}
	stepsParam = Param{
		Name: "steps", Doc: "rates between rate and rateTo, both counted; 5 where it is left out", Min: "2", Max: "1000",
		field: func(p *Params) any { return &p.Steps },
	}
	dataParam = Param{
		Name: "data", Doc: "what a broker that comes back has of its data: lost is a new machine with its id", Default: dataKept, Choices: []string{dataKept, dataLost},
		field: func(p *Params) any { return &p.Data },
	}
	awayParam = Param{
		Name: "away", Doc: "how long the node is away", Default: "5s", Min: "100ms", Max: "24h",
		field: func(p *Params) any { return &p.Away },
	}
	killsParam = Param{
		Name: "kills", Doc: "controllers lost one after the other in each trial, each as soon as its predecessor was replaced", Default: "1", Min: "1", Max: "4",
		field: func(p *Params) any { return &p.Kills },
	}
	limitParam = Param{
		Name: "limit", Doc: "how late 99 of 100 changes may be at the last broker for a rate to count as sustained", Default: "1s", Min: "1ms", Max: "10m",
		field: func(p *Params) any { return &p.Limit },
	}
	weightsParam = Param{
		Name: "weights", Doc: "operations and their shares, such as 'create=2, config=5, leader=3'", Default: "create=2, config=4, leader=4",
		Check: func(s string) error { _, err := parseWeights(s); return err },
		field: func(p *Params) any { return &p.Weights },
	}
	produceRateParam = Param{
		Name: "produce.rate", Doc: "records per second", Default: "1000", Min: "1", Max: "1000000",
		field: func(p *Params) any { return &p.ProduceRate },
	}
	produceBytesParam = Param{
		Name: "produce.bytes", Doc: "size of each record", Default: "1000", Min: "1", Max: "1000000",
		field: func(p *Params) any { return &p.ProduceBytes },
	}
	producerParam = Param{
		Name: "produce.client", Doc: "what produces: plain requests, or the client franz-go with its own batching and metadata",
		Default: producerPlain, Choices: []string{producerPlain, producerFranz},
		field: func(p *Params) any { return &p.Producer },
	}
	timeoutParam = Param{
		Name: "trialTimeout", Doc: "bound of a recovery and of each health gate", Default: "5m", Min: "100ms", Max: "24h",
		field: func(p *Params) any { return &p.TrialTimeout },
	}
)

// everyParam is all parameters there are, to find those set without need.
var everyParam = []Param{
	howParam(""), trialsParam("1"), rateParam, durationParam, arrivalParam, rateToParam, stepsParam,
	probeRateParam, probePartitionsParam, partitionsParam, perTopicParam, replicationParam,
	awayParam, dataParam, killsParam, limitParam, weightsParam, produceRateParam, produceBytesParam, producerParam,
	timeoutParam,
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
	if len(errs) == 0 && p.Arrival != "" {
		if err := p.checkLoad(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", w.Kind, err))
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
	if zero && q.Default == "" {
		return nil
	}
	switch v := q.field(p).(type) {
	case *string:
		if zero {
			*v = q.Default
		}
		switch {
		case q.Check != nil && *v != "":
			return q.Check(*v)
		case q.Check == nil && !slices.Contains(q.Choices, *v):
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

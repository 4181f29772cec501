package harness

import (
	"context"
	"time"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/results"
)

// Options is everything a run needs. Spec, Out, Open and Tool must be set.
type Options struct {
	Spec        *spec.Spec
	Name        string // names the run; empty means the spec's name
	Out         string // receives the run folder
	CommandLine []string
	Tool        results.Tool
	Provider    string        // process or docker, as it was resolved, or results.NoProvider
	ProviderWhy string        // why it is that one
	DataDir     string        // where nodes keep their data, for the environment
	Warnings    []string      // that every reader of the run must see
	Estimate    time.Duration // how long the run is expected to take; 0: not said
	// Open makes the provider of one cell; name is unique in the machine.
	Open    func(ctx context.Context, name string) (provider.Provider, error)
	Profile bool // keep CPU and heap profiles of nodes, and recordings of JVMs
	// Resume is the run that goes on, of Spec; nil begins one.
	Resume *Unfinished
	// Units is what is run, in this order; nil means the Matrix of Spec.
	Units []Unit
	// Retries is how often a unit with an invalid turn is run again.
	Retries int
	// StopAtLoss ends the run when a unit stays invalid: the rest could not
	// mend it.
	StopAtLoss bool
	// Comparison is what Units compare, for the manifest; nil where they are
	// no interleaved pairs.
	Comparison *results.Comparison
	// Began gives a line for Say at each attempt, from 1, at a unit, which it
	// knows by its index; nil says nothing.
	Began func(unit, attempt int) string
	// Ended gives a line for Say when a counted unit is over in which every turn
	// was valid, from what it measured; nil says nothing.
	Ended func(unit int, samples []results.Sample) string
	// Say gets one plain line for people; nil drops them.
	Say func(line string)
	// Progress hears where the run is, one call at a time but from several
	// goroutines. It must not block: they are the ones that measure. nil drops it.
	Progress func(Progress)
}

// Outcome is a finished run.
type Outcome struct {
	Dir      string // the run folder
	Manifest results.Manifest
}

func (o *Options) say(line string) {
	if o.Say != nil && line != "" {
		o.Say(line)
	}
}

func (o *Options) progress(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

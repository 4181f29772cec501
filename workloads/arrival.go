package workloads

import (
	"errors"
	"time"
)

// The ways in which operations of an open loop come.
const (
	arrivalConstant = "constant"
	arrivalPoisson  = "poisson"
	arrivalRamp     = "ramp"
	arrivalSteps    = "steps"
)

// loadParams are the parameters of a workload whose operations come at a rate.
var loadParams = []Param{rateParam, durationParam, arrivalParam, rateToParam, stepsParam}

// arrivals gives the pacer that the parameters ask for; operations come for
// p.Duration.
func (p Params) arrivals(seed uint64) (Pacer, error) {
	switch p.Arrival {
	case arrivalPoisson:
		return checkedPacer(NewPoisson(p.Rate, seed))
	case arrivalRamp:
		return checkedPacer(NewRamp(p.Rate, p.lastRate(), p.Duration))
	case arrivalSteps:
		return checkedPacer(NewSteps(p.Rate, p.lastRate(), p.steps(), p.Duration))
	}
	return checkedPacer(NewConstant(p.Rate))
}

func checkedPacer[P Pacer](p P, err error) (Pacer, error) { return p, err }

func (p Params) lastRate() float64 {
	if p.RateTo == 0 {
		return p.Rate
	}
	return p.RateTo
}

// defaultSteps is how many steps there are where none are written.
const defaultSteps = 5

func (p Params) steps() int {
	if p.Steps == 0 {
		return defaultSteps
	}
	return p.Steps
}

// checkLoad refuses parameters that contradict each other.
func (p Params) checkLoad() error {
	rises := p.Arrival == arrivalRamp || p.Arrival == arrivalSteps
	switch {
	case rises && p.RateTo == 0:
		return errors.New("arrival " + p.Arrival + " without rateTo; write the rate that it ends with")
	case p.Steps != 0 && p.Arrival != arrivalSteps:
		return errors.New("steps with arrival " + p.Arrival + "; write arrival: steps, or take steps out")
	case !rises && p.RateTo != 0:
		return errors.New("rateTo with arrival " + p.Arrival + ", whose rate stays; write arrival: ramp or steps, or take rateTo out")
	}
	return nil
}

// due counts the operations that come within a time.
func due(p Pacer, within time.Duration) (n int) {
	for offset := range p.Due() {
		if offset >= within {
			break
		}
		n++
	}
	return n
}

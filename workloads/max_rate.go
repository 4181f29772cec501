package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kbench/internal/trace"
)

const (
	// maxDoublings and maxBisections bound the search.
	maxDoublings  = 12
	maxBisections = 6
	// searchedWithin is how near the bounds of the rate are in the end.
	searchedWithin = 1.1
	// usualSteps is how many rates a search mostly takes.
	usualSteps = 10
)

var maxRate = Workload{
	Kind: "max-rate",
	Doc:  "search for the highest rate of changes that the cluster sustains",
	Clock: fmt.Sprintf("each rate is driven for the duration. It is sustained if every change is acknowledged and served by every live broker, none is dropped, and 99 of 100 are served by the last broker within the limit from their intended time. The rate doubles until one is not sustained, and is bisected until the bounds are within %.0f %%; the result is the highest rate that was sustained",
		100*(searchedWithin-1)),
	Params: []Param{
		changeParam(changeCreate, changeLeader, changeConfig), trialsParam("1"), rateParam.or("50").says("changes per second that the search begins with"),
		durationParam.or("5s").says("how long each rate is driven"), limitParam, probeRateParam, probePartitionsParam, timeoutParam.or("10m"),
	},
	run:     func(ctx context.Context, r *run) error { return r.eachTrial(ctx, r.searchRate) },
	refuses: func(s Setup, p Params) error { return refusesChanges(s, p.How) },
	lasts:   func(p Params) time.Duration { return time.Duration(p.Trials) * usualSteps * p.Duration },
}

// searchRate searches on the cluster.
func (r *run) searchRate(ctx context.Context, t *trialRun) error {
	t.out.StartNs = trace.Now()
	steps := 0
	low, high, err := search(t.p.Rate, func(rate float64) (bool, error) {
		sustained, why, err := t.step(ctx, steps, rate)
		steps++
		if err == nil {
			t.event(EventNote, t.out.N, 0, trace.Now(), "%.1f changes/s: %s", rate, why)
		}
		return sustained, err
	})
	t.ended(trace.Now())
	t.count("steps", int64(steps))
	switch {
	case t.out.Slipped: // the trial says so already
		return ctx.Err()
	case err != nil:
		return err
	case low == 0:
		return fmt.Errorf("not even %.2f changes/s are sustained; lower rate, or allow a higher limit", high)
	case high == 0:
		return fmt.Errorf("%.0f changes/s are sustained, and the search went no higher; begin with a higher rate", low)
	}
	t.value(MetricSustained, PhaseRate, low)
	return nil
}

// errSlipped ends a search: the generator is what gives out.
var errSlipped = errors.New("the generator slipped")

// search doubles a rate until it is not sustained and bisects from there. It
// gives the highest that was sustained and the lowest that was not, 0 for none.
func search(first float64, sustained func(rate float64) (bool, error)) (low, high float64, err error) {
	for range maxDoublings + maxBisections {
		rate := nextRate(first, low, high)
		if rate == 0 || high > 0 && high <= low*searchedWithin {
			break
		}
		ok, err := sustained(rate)
		if err != nil {
			return low, high, err
		}
		if ok {
			low = rate
		} else {
			high = rate
		}
	}
	return low, high, nil
}

// nextRate gives the rate to try between the highest that was sustained and the
// lowest that was not, 0 for none of them yet. It gives 0 where no lower one is
// worth a try.
func nextRate(first, low, high float64) float64 {
	switch {
	case low == 0 && high == 0:
		return first
	case high == 0:
		return 2 * low
	case low == 0:
		if high/2 < first/64 {
			return 0
		}
		return high / 2
	}
	return (low + high) / 2
}

// step drives one rate and judges it. A generator that slipped makes the trial
// invalid: it says nothing about the cluster.
func (t *trialRun) step(ctx context.Context, n int, rate float64) (sustained bool, why string, err error) {
	t.progress(t.out.N, fmt.Sprintf("%.0f/s", rate), n, maxDoublings+maxBisections)
	one := &trialRun{run: t.run, out: Trial{Workload: t.w.Kind, How: t.p.How, N: t.out.N, Valid: true}}
	t.tries++ // other names of topics
	var lasts []int64
	s := newSpread(one, t.p.How, liveBrokers(t.Cluster), func(c *change) { lasts = append(lasts, c.lastNs()-c.intendedNs) })
	pacer, err := checkedPacer(NewConstant(rate))
	if err != nil {
		return false, "", err
	}
	err = one.drive(ctx, s, pacer)
	if err == nil {
		err = t.healthy(ctx)
	}
	if err != nil {
		return false, "", err
	}
	if one.out.Slipped {
		t.out.Slipped = t.out.Slipped || t.out.Valid
		t.invalid("%.1f changes/s: %s", rate, one.out.Reason)
		return false, "", errSlipped
	}
	return sustains(one.out, lasts, t.p.Limit)
}

// sustains applies the criterion.
func sustains(out Trial, lasts []int64, limit time.Duration) (sustained bool, why string, err error) {
	if !out.Valid {
		return false, "not sustained: " + out.Reason, nil
	}
	slices.Sort(lasts)
	p99 := time.Duration(lasts[(len(lasts)*99+99)/100-1])
	if p99 > limit {
		return false, fmt.Sprintf("not sustained: 1 of 100 changes is later than %v", p99), nil
	}
	return true, fmt.Sprintf("sustained: 99 of 100 changes within %v", p99), nil
}

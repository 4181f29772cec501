package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/aclements/go-moremath/stats"
)

// Paired compares measurements that were taken in pairs: b[i] beside a[i].
type Paired struct {
	N        int      // pairs
	Ratio    float64  // exp(median(log(b/a))): over 1 where b is larger
	Interval Interval // of Ratio, bootstrap; 0 to +Inf where there are fewer than six pairs
	P        float64  // of SignedRank over log(b/a)

	// Shift is the ratio by Walsh, whose interval decides as P does; 0 to +Inf
	// where there are fewer than six pairs. It is the narrower of the two: a
	// change of 10 % among ten pairs with 5 % noise on each side is outside of
	// it in 96 of 100 cases, outside of Interval in 94.
	Shift         float64
	ShiftInterval Interval
}

// PairedLogRatio compares b with a, pair by pair, on the logarithmic scale:
// what both values of a pair share (the state of the machine at that time)
// cancels out. Interval draws pairs with replacement, 10,000 times. An
// empty or unequal number of values, or one that is not over zero and finite,
// is an error.
func PairedLogRatio(a, b []float64, confidence float64, seed uint64) (Paired, error) {
	switch {
	case len(a) != len(b):
		return Paired{}, fmt.Errorf("compare pairs: %d values beside %d", len(a), len(b))
	case len(a) == 0:
		return Paired{}, errors.New("compare pairs: there are none")
	case !share(confidence):
		return Paired{}, fmt.Errorf("compare pairs: confidence %v is not between 0 and 1", confidence)
	}
	logs := make([]float64, len(a))
	for i := range a {
		if !(a[i] > 0 && b[i] > 0) || math.IsInf(a[i], 0) || math.IsInf(b[i], 0) {
			return Paired{}, fmt.Errorf("compare pairs: pair %d of %d is %v and %v; a ratio needs values over zero", i+1, len(a), a[i], b[i])
		}
		// The difference of logarithms cannot overflow, the ratio could.
		if a[i] != b[i] {
			logs[i] = math.Log(b[i]) - math.Log(a[i])
		}
	}
	p, err := SignedRank(logs)
	if err != nil {
		return Paired{}, err
	}
	shift, siv, ok := Walsh(logs, confidence)
	out := Paired{
		N: len(a), Ratio: math.Exp(Median(logs)), Interval: Interval{0, math.Inf(1)}, P: p,
		Shift: math.Exp(shift), ShiftInterval: Interval{0, math.Inf(1)},
	}
	if ok {
		out.ShiftInterval = Interval{math.Exp(siv.Lo), math.Exp(siv.Hi)}
	}
	if len(a) < pairsNeed {
		return out, nil
	}
	rng := rand.NewPCG(seed, resamples)
	r := newResampler(logs)
	drawn := make([]float64, resamples)
	for i := range drawn {
		drawn[i] = r.median(rng)
	}
	iv := percentiles(drawn, confidence)
	out.Interval = Interval{math.Exp(iv.Lo), math.Exp(iv.Hi)}
	return out, nil
}

// PairsNeeded is the number of pairs with which SignedRank finds a relative
// change of effect (0.05 for 5 %, over -1) at level alpha with the power,
// where log ratios have the standard deviation sdLog. It takes the log ratios
// as normal, for which the test has 3/pi of the t-test's efficiency. It is 0
// where no number would do: an effect of zero, or an argument out of range.
func PairsNeeded(sdLog, effect, alpha, power float64) int {
	delta := math.Abs(math.Log1p(effect))
	if !(delta > 0) || math.IsInf(delta, 0) || !(sdLog >= 0) || math.IsInf(sdLog, 0) || !share(alpha) || !share(power) {
		return 0
	}
	zb := stats.StdNormal.InvCDF(power)
	d := delta / sdLog
	// wanted is what a level asks for. The second term is what the unknown
	// standard deviation costs (Guenther).
	wanted := func(level float64) float64 {
		za := stats.StdNormal.InvCDF(1 - level/2)
		return math.Ceil(((za+zb)*(za+zb)/(d*d) + za*za/2) * math.Pi / 3)
	}
	// Few pairs cannot reach alpha itself, only a level under it, or none.
	for n := 1; n <= exactSignedRank; n++ {
		if k := signedRankLimit(n, alpha); k > 0 && float64(n) >= wanted(2*lowerTail(untied(n), 2*(k-1))) {
			return n
		}
	}
	n := max(wanted(alpha), exactSignedRank+1)
	if n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

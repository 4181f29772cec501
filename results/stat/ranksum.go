package stat

import (
	"errors"
	"fmt"

	"github.com/aclements/go-moremath/stats"
)

// MannWhitney tests whether values of one sample tend to be larger than those
// of the other, two-sided, as benchstat does: exact up to 50 values a side (25
// with ties), the normal approximation beyond. Samples whose values are all
// equal give 1. An empty sample or a value that is not finite is an error.
//
// Two samples of different sizes with ties are where benchstat is wrong: their
// statistic is not symmetric around its mean, but it takes the lower tail of
// one side for that of the other. Here each side has its own.
func MannWhitney(a, b []float64) (p float64, err error) {
	if len(a) == 0 || len(b) == 0 {
		return 0, errors.New("compare two samples: one of them is empty")
	}
	if err := errors.Join(checkFinite("the first sample", a), checkFinite("the second sample", b)); err != nil {
		return 0, err
	}
	r, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
	if err == nil && r.U > float64(len(a)*len(b))/2 {
		r, err = stats.MannWhitneyUTest(b, a, stats.LocationDiffers)
	}
	switch {
	case errors.Is(err, stats.ErrSamplesEqual):
		return 1, nil
	case err != nil:
		return 0, fmt.Errorf("compare two samples: %w", err)
	}
	return min(r.P, 1), nil
}

// MannWhitneyNeeds is the smallest number of values on each side with which
// MannWhitney can go under alpha at all: 4 for 0.05, 5 for 0.01. It is 0 where
// alpha is not between 0 and 1.
func MannWhitneyNeeds(alpha float64) int {
	if !share(alpha) {
		return 0
	}
	// Two of the C(2n, n) ways to split 2n values are as far apart as can be.
	p := 2.0
	for n := 1; ; n++ {
		p *= float64(n) / float64(2*(2*n-1))
		if p < alpha {
			return n
		}
	}
}

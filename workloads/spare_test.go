package workloads

import (
	"errors"
	"testing"
)

func TestSlippedTrialsAreRunAgainWithinBounds(t *testing.T) {
	for name, c := range map[string]struct {
		spare, slips, want int
	}{
		"no slip":            {spare: 3, slips: 0, want: 1},
		"two slips":          {spare: 3, slips: 2, want: 3},
		"slips without end":  {spare: 3, slips: 100, want: 4},
		"no spare trial":     {spare: 0, slips: 100, want: 1},
		"spare is just used": {spare: 2, slips: 2, want: 3},
	} {
		r := &run{spare: c.spare}
		tries := 0
		err := r.trial(func() error {
			tries++
			r.slipped = tries <= c.slips
			return nil
		})
		if err != nil || tries != c.want {
			t.Errorf("%s: %d tries, want %d (%v)", name, tries, c.want, err)
		}
	}
}

func TestAnErrorEndsTheTries(t *testing.T) {
	r := &run{spare: 3}
	broken := errors.New("broken")
	tries := 0
	err := r.trial(func() error { tries++; r.slipped = true; return broken })
	if !errors.Is(err, broken) || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

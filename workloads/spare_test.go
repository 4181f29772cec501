package workloads

import (
	"errors"
	"fmt"
	"strings"
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

// A controller of a row whose trial slipped is lost again before the next one,
// wherever it stands in the row.
func TestSlippedKillsAreRunAgain(t *testing.T) {
	for slips, want := range map[int]string{1: "1f 1f 2 3l", 2: "1f 2 2 3l", 3: "1f 2 3l 3l"} {
		r := &run{p: Params{Trials: 1, Kills: 3}}
		r.spare = r.p.Events()
		var lost []string
		err := r.row(1, func(trial int, first, last bool) error {
			name := fmt.Sprint(trial)
			if first {
				name += "f"
			}
			if last {
				name += "l"
			}
			lost = append(lost, name)
			r.slipped = len(lost) == slips
			return nil
		})
		if got := strings.Join(lost, " "); err != nil || got != want || r.spare != 2 {
			t.Errorf("trial %d slips: %s, want %s; %d spare, %v", slips, got, want, r.spare, err)
		}
	}
}

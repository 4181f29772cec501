package sim

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seedsFlag = flag.Int("seeds", 0, "number of seeds to simulate (0: SEEDS of the environment, else 2,000, or 100 with -short)")
	seedFlag  = flag.Int64("seed", -1, "simulate this one seed only and print its trace")
	firstFlag = flag.Uint64("first-seed", 1, "first seed")
)

const events = 5000

// twiceEvery says which seeds are run twice to compare their traces.
const twiceEvery = 20

func seeds(t *testing.T) int {
	n := *seedsFlag
	if env := os.Getenv("SEEDS"); n == 0 && env != "" {
		var err error
		if n, err = strconv.Atoi(env); err != nil || n < 1 {
			t.Fatalf("SEEDS=%q: want a number above 0", env)
		}
	}
	switch {
	case n > 0:
		return n
	case testing.Short():
		return 100
	}
	return 2000
}

// floor is what 1,000 seeds must at least go through: about half of what they
// do. It holds for 100 seeds and more; few seeds differ too much.
var floor = Coverage{
	Seeds: 1000, Events: 1000 * events,
	Elections: 10_000, Candidacies: 15_000, PreVotes: 12_000,
	Commits: 400_000, Appends: 200_000, Refused: 80_000,
	Truncations: 2000, RecordsTruncated: 50_000,
	Crashes: 10_000, MidStepCrashes: 3000, RecordsLost: 50_000,
	Partitions: 12_000, Pauses: 3000, Lost: 70_000, Duplicated: 12_000,
	Resignations: 7000, Shutdowns: 3000, Snapshots: 1000, Installs: 250,
	SlowDisks: 4000, ParkedExpired: 60_000,
	DiskErrors: 3000, Skewed: 7000, VoterChanges: 1200, VotersRefused: 2500, SelfRemovals: 300,
}

func TestSeeds(t *testing.T) {
	if *seedFlag >= 0 {
		r := Run(Options{Seed: uint64(*seedFlag), Events: events, Log: func(l string) { fmt.Println(l) }})
		if r.Violation != nil {
			t.Fatal(r.Violation)
		}
		return
	}
	n := seeds(t)
	total, violations := runSeeds(*firstFlag, n)
	t.Logf("coverage:\n%v", total)
	for _, v := range violations {
		t.Error(v)
	}
	if n < 100 {
		return
	}
	for _, low := range total.Below(floor.PerSeed(int64(n))) {
		t.Errorf("the simulation does too little: %s", low)
	}
}

// runSeeds runs n seeds on all processors and gives their coverage and the
// first few violations.
func runSeeds(first uint64, n int) (total Coverage, violations []string) {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		next atomic.Int64
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				seed := first + uint64(i)
				r := Run(Options{Seed: seed, Events: events})
				bad := ""
				if r.Violation != nil {
					bad = r.Violation.String()
				} else if i%twiceEvery == 0 {
					if again := Run(Options{Seed: seed, Events: events}); again.Trace != r.Trace || again.Coverage != r.Coverage {
						bad = fmt.Sprintf("seed %d: two runs differ: traces %x and %x", seed, r.Trace, again.Trace)
					}
				}
				mu.Lock()
				total.Add(r.Coverage)
				if bad != "" && len(violations) < 10 {
					violations = append(violations, bad)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return total, violations
}

package zkcluster

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

const events = 3000

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
	if n < 1000 {
		return
	}
	for _, low := range total.Below(floor.PerSeed(int64(n))) {
		t.Errorf("the simulation does too little: %s", low)
	}
}

// floor is what 1,000 seeds must at least go through: about half of what they
// do. It holds for 1,000 seeds and more; few seeds differ too much.
var floor = Coverage{
	Seeds: 1000, Events: 1000 * events,
	Elections: 5000, LostElections: 20, Failovers: 4000, GiveUps: 900,
	Expiries: 2700, ExpiriesMidMulti: 200, Disconnects: 17_000, Reconnects: 13_000,
	Watches: 38_000, LostReplies: 500,
	Fenced: 700, ZombieWrites: 220, ZombieRequests: 340,
	StaleBrokerEpochs: 1000, StaleStates: 40_000,
	RequestsLost: 19_000, AnswersLost: 1700,
	Crashes: 4800, Bounces: 1600, Freezes: 2700, Partitions: 2000, Cuts: 3500, Deposed: 1700,
	ShutdownsGranted: 800, LostRegistrations: 20, RegistrationWaits: 1200,
	Created: 1800, Deleted: 560, Recreated: 120, Expanded: 400, Reassigned: 850, Cancelled: 30,
	Elected: 1000, ISRChanges: 9000, ISRRefused: 2000, Configured: 1400, ProducerIDBlocks: 900,
	UncleanLeaders: 560, ReplicasDeleted: 5800,
}

// runSeeds runs n seeds, each twice, on all processors and gives their coverage
// and the first few violations.
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
				} else if again := Run(Options{Seed: seed, Events: events}); again.Trace != r.Trace || again.Coverage != r.Coverage {
					bad = fmt.Sprintf("seed %d: two runs differ: traces %x and %x", seed, r.Trace, again.Trace)
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

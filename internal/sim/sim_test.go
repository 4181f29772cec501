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
	seedsFlag = flag.Int("seeds", 0, "number of seeds to simulate, each twice (0: SEEDS of the environment, else 1,000, 500 with metadata, or 100 with -short)")
	seedFlag  = flag.Int64("seed", -1, "simulate this one seed only and print its trace")
	firstFlag = flag.Uint64("first-seed", 1, "first seed")
	beyond    = flag.Bool("beyond", false, "leave out the seeds that are simulated where nobody says how many")
)

const (
	events = 5000
	// metadataEvents is fewer: each may do more, and as many again follow until a
	// healed world has settled.
	metadataEvents = 3000
)

// seeds gives the first seed and how many to run: otherwise where neither flag
// nor environment says. With beyond they are those behind the first so many.
func seeds(t *testing.T, otherwise int) (first uint64, n int) {
	n = *seedsFlag
	if env := os.Getenv("SEEDS"); n == 0 && env != "" {
		var err error
		if n, err = strconv.Atoi(env); err != nil || n < 1 {
			t.Fatalf("SEEDS=%q: want a number above 0", env)
		}
	}
	switch {
	case n > otherwise && *beyond:
		return *firstFlag + uint64(otherwise), n - otherwise
	case n > 0:
		return *firstFlag, n
	case testing.Short():
		return *firstFlag, 100
	}
	return *firstFlag, otherwise
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

// metadataFloor is the same of worlds with metadata.
var metadataFloor = Coverage{
	Seeds: 1000, Events: 1000 * metadataEvents,
	Elections: 3000, Candidacies: 4000, PreVotes: 6000, Commits: 50_000, Appends: 35_000,
	Truncations: 800, RecordsTruncated: 2000, Crashes: 4500, MidStepCrashes: 700, RecordsLost: 14_000,
	Partitions: 2600, Pauses: 700, Lost: 40_000, Duplicated: 9000, Resignations: 2000, Shutdowns: 700,
	Snapshots: 240, Installs: 150, SlowDisks: 900, DiskErrors: 700, Skewed: 4800, VoterChanges: 550, VotersRefused: 500, SelfRemovals: 130,
	Claims: 2900, Renounced: 1000, Registrations: 3800, Fenced: 1100, Unfenced: 3200, Granted: 700, DirectoriesLost: 700,
	Topics: 700, ISRChanges: 3000, LeadersElected: 2400, Unclean: 400, Loads: 450,
	Published: 80_000, Held: 350, TxnsAborted: 8, Eligible: 700, FromELR: 100, LastKnown: 350,
	ELRSwitches: 250, Upgrades: 110, ACLs: 220, Scrams: 120, Quotas: 220, Tokens: 240, Unregistered: 90,
	Late: 60, LateBrokers: 80,
}

// maxStuck is how many of 1,000 seeds may end stuck by a removal, see world.stuck:
// twice what do.
const maxStuck = 80

// judgeCoverage requires that n seeds went through enough to prove something.
func judgeCoverage(t *testing.T, total, floor Coverage, n int) {
	t.Helper()
	t.Logf("coverage:\n%v", total)
	if n < 100 {
		return
	}
	for _, low := range total.Below(floor.PerSeed(int64(n))) {
		t.Errorf("the simulation does too little: %s", low)
	}
	if most := int64(n * maxStuck / 1000); total.Stuck > most {
		t.Errorf("%d of %d seeds end stuck by a removal, at most %d may", total.Stuck, n, most)
	}
}

func TestSeeds(t *testing.T) {
	if *seedFlag >= 0 {
		r := Run(Options{Seed: uint64(*seedFlag), Events: events, Log: func(l string) { fmt.Println(l) }})
		if r.Violation != nil {
			t.Fatal(r.Violation)
		}
		return
	}
	first, n := seeds(t, 1000)
	total, violations := runSeeds(Options{Seed: first, Events: events}, n)
	for _, v := range violations {
		t.Error(v)
	}
	judgeCoverage(t, total, floor, n)
}

// TestMetadataSeeds simulates controllers and brokers over the quorum.
func TestMetadataSeeds(t *testing.T) {
	if *seedFlag >= 0 {
		r := Run(Options{Seed: uint64(*seedFlag), Events: metadataEvents, Metadata: true, Log: func(l string) { fmt.Println(l) }})
		if r.Violation != nil {
			t.Fatal(r.Violation)
		}
		return
	}
	first, n := seeds(t, 500)
	total, violations := runSeeds(Options{Seed: first, Events: metadataEvents, Metadata: true}, n)
	for _, v := range violations {
		t.Error(v)
	}
	judgeCoverage(t, total, metadataFloor, n)
}

// runSeeds runs n seeds, the first of which is that of opt, on all processors
// and gives their coverage and the first few violations.
func runSeeds(opt Options, n int) (total Coverage, violations []string) {
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
				opt := opt
				opt.Seed += uint64(i)
				r := Run(opt)
				bad := ""
				if r.Violation != nil {
					bad = r.Violation.String()
				} else {
					if again := Run(opt); again.Trace != r.Trace || again.Coverage != r.Coverage {
						bad = fmt.Sprintf("seed %d: two runs differ: traces %x and %x", opt.Seed, r.Trace, again.Trace)
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

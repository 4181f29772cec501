package onelog

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

const events = 300

var (
	firstFlag = flag.Uint64("first-seed", 1, "first seed")
	beyond    = flag.Bool("beyond", false, "leave out the seeds that are simulated where nobody says how many")
)

// otherwise is how many seeds are run where nobody says.
const otherwise = 1000

// seeds gives the first seed and how many to run.
func seeds(t *testing.T) (first uint64, n int) {
	if env := os.Getenv("SEEDS"); env != "" {
		n, err := strconv.Atoi(env)
		if err != nil || n < 1 {
			t.Fatalf("SEEDS=%q: want a number above 0", env)
		}
		if n > otherwise && *beyond {
			return *firstFlag + otherwise, n - otherwise
		}
		return *firstFlag, n
	}
	if testing.Short() {
		return *firstFlag, 100
	}
	return *firstFlag, otherwise
}

// TestSeeds runs every seed twice: no invariant breaks, both do the same, and
// all that can happen does.
func TestSeeds(t *testing.T) {
	var total Coverage
	first, n := seeds(t)
	for i := range n {
		opt := Options{Seed: first + uint64(i), Events: events}
		r, again := Run(opt), Run(opt)
		if r.Violation != nil {
			t.Fatal(r.Violation)
		}
		if r.Trace != again.Trace || r.Coverage != again.Coverage {
			t.Fatalf("seed %d: two runs differ", opt.Seed)
		}
		total.Add(r.Coverage)
	}
	t.Logf("%d seeds: %+v", n, total)
	for what, c := range map[string]int64{
		"appends": total.Appends / 50, "flushes": total.Flushes / 20, "truncations": total.Truncations / 4, "snapshots": total.Snapshots / 2,
		"refused snapshots": total.Refused / 10, "received snapshots": total.Received, "deletions": total.Deletions,
		"crashes": total.Crashes / 5, "torn writes": total.Torn, "disk errors": total.DiskErrors / 3, "reads": total.Reads / 10,
	} {
		if c < int64(n) {
			t.Errorf("too few %s: %d, want %d", what, c, n)
		}
	}
}

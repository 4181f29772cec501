package workloads

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// maxWeight bounds one share, so that their sum stays a small number.
const maxWeight = 1000

// weights says how often each kind of change comes.
type weights struct {
	kinds []string // in a fixed order
	share []int
	sum   int
}

// parseWeights reads 'create=2, config=4, leader=4'.
func parseWeights(text string) (weights, error) {
	known := slices.Sorted(maps.Keys(changersOf))
	var w weights
	for part := range strings.SplitSeq(text, ",") {
		kind, number, ok := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		kind = strings.TrimSpace(kind)
		switch {
		case !ok || err != nil:
			return w, fmt.Errorf("%q is no operation and its share; write create=2, config=4, leader=4", strings.TrimSpace(part))
		case !slices.Contains(known, kind):
			return w, fmt.Errorf("unknown operation %q; there are %s", kind, strings.Join(known, ", "))
		case slices.Contains(w.kinds, kind):
			return w, fmt.Errorf("%s has two shares; keep one", kind)
		case n < 1 || n > maxWeight:
			return w, fmt.Errorf("share %d of %s; write 1 to %d, or leave it out", n, kind, maxWeight)
		}
		w.kinds, w.share, w.sum = append(w.kinds, kind), append(w.share, n), w.sum+n
	}
	return w, nil
}

// draws gives the kinds of n operations, drawn from the seed.
func (w weights) draws(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, streamMix))
	out := make([]string, n)
	for i := range out {
		at := rng.IntN(w.sum)
		for j, share := range w.share {
			if at -= share; at < 0 {
				out[i] = w.kinds[j]
				break
			}
		}
	}
	return out
}

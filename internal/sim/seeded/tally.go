package seeded

import (
	"fmt"
	"strings"
)

// Counter is a named count of what runs went through.
type Counter struct {
	Name string
	N    *int64
}

// Tally is the counters of one kind of simulation, in the same order each time.
type Tally []Counter

// Add adds those of o.
func (t Tally) Add(o Tally) {
	for i, c := range t {
		*c.N += *o[i].N
	}
}

// Below lists the counters that are below those of floor.
func (t Tally) Below(floor Tally) []string {
	var low []string
	for i, c := range t {
		if *c.N < *floor[i].N {
			low = append(low, fmt.Sprintf("%s: %d, floor %d", c.Name, *c.N, *floor[i].N))
		}
	}
	return low
}

// Scale turns a floor that is stated for 1,000 seeds into one for n.
func (t Tally) Scale(n int64) {
	for _, c := range t {
		*c.N = *c.N * n / 1000
	}
}

// String is a table, one counter a line.
func (t Tally) String() string {
	var b strings.Builder
	for _, c := range t {
		fmt.Fprintf(&b, "%-26s %12d\n", c.Name, *c.N)
	}
	return b.String()
}

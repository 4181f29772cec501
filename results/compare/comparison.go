package compare

import (
	"encoding/json"
	"time"

	"kbench/results"
)

// SchemaVersion is the version of the JSON form. Fields are added, never
// changed, within one version.
const SchemaVersion = 1

// Comparison is the outcome, and the contract of the JSON form.
type Comparison struct {
	Format        string       `json:"format"` // "kbench-comparison"
	SchemaVersion int          `json:"schemaVersion"`
	Alpha         float64      `json:"alpha"`      // level of the tests
	Confidence    float64      `json:"confidence"` // of intervals
	Sides         []Side       `json:"sides"`      // the first is the base
	Rows          []Row        `json:"rows"`
	HeadlineTests int          `json:"headlineTests"` // tests that Holm corrected together
	Unmatched     []Unmatched  `json:"unmatched"`     // measured on some sides only
	Excluded      []Excluded   `json:"excluded"`      // cells and runs that are not valid
	Differences   []Difference `json:"differences"`   // declared by a variant, or ignored on request
	Warnings      []string     `json:"warnings"`
}

// Side is one column.
type Side struct {
	Name    string    `json:"name"`              // unique
	Label   string    `json:"label"`             // the run as the user named it
	Run     string    `json:"run"`               // its id
	Target  string    `json:"target,omitempty"`  // where sides are targets
	Variant string    `json:"variant,omitempty"` // where sides are variants
	Spec    string    `json:"spec"`
	Started time.Time `json:"started"`
	Version string    `json:"version"`
	Commit  string    `json:"commit,omitempty"`
	Dirty   bool      `json:"dirty,omitempty"`
}

// Row is one statistic of one phase at one point, on all sides.
type Row struct {
	Target     string            `json:"target,omitempty"`  // where it is no side
	Variant    string            `json:"variant,omitempty"` // where it is no side
	Point      string            `json:"point"`             // such as 10k, or partitions=10k brokers=5
	Partitions int               `json:"partitions"`
	Workload   string            `json:"workload"`
	Metric     string            `json:"metric"`
	Phase      string            `json:"phase"`
	Stat       string            `json:"stat"` // median; p99 of histograms
	Unit       results.Unit      `json:"unit"`
	Better     results.Direction `json:"better"`
	Headline   bool              `json:"headline"`
	Histogram  bool              `json:"histogram"` // values are of repeats, not of trials
	Values     []*Value          `json:"values"`    // by side, null where it measured nothing
	Changes    []Change          `json:"changes"`   // of each side against the base
	Best       *int              `json:"best"`      // of three sides and more: the one significantly better than every other

	docs string
}

// Value is what one side measured.
type Value struct {
	N       int      `json:"n"`       // independent values: valid trials, or repeats of a histogram
	Count   int64    `json:"count"`   // values in all; more than n in a histogram
	Invalid int64    `json:"invalid"` // of trials that are not valid, not counted
	Center  float64  `json:"center"`  // the statistic, in the row's unit
	Lo      *float64 `json:"lo"`      // 95 % interval of the median over n, null where n is too small
	Hi      *float64 `json:"hi"`
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`

	independent []float64
}

// Verdict says what is known of a change.
type Verdict string

// A change is None where no difference is known, `~` in tables: that is no
// proof that there is none. It is Untested where there are too few values for
// any difference to be significant.
const (
	Better   Verdict = "better"
	Worse    Verdict = "worse"
	None     Verdict = "none"
	Untested Verdict = "untested"
)

// Change compares a side with the base.
type Change struct {
	Side     int      `json:"side"`
	Ratio    *float64 `json:"ratio"` // to the base, over 1 where larger; null where the base is zero
	Lo       *float64 `json:"lo"`    // 95 % interval of the ratio, null where n is too small
	Hi       *float64 `json:"hi"`
	P        *float64 `json:"p"`         // Mann-Whitney; null where untested
	Adjusted *float64 `json:"pAdjusted"` // by Holm; null for secondary rows
	Needs    int      `json:"needs"`     // values on each side that could decide, 0 where there are enough
	Verdict  Verdict  `json:"verdict"`
}

// Unmatched is a row that some sides lack.
type Unmatched struct {
	Target   string   `json:"target,omitempty"`
	Variant  string   `json:"variant,omitempty"`
	Point    string   `json:"point"`
	Workload string   `json:"workload"`
	Metric   string   `json:"metric"`
	Phase    string   `json:"phase"`
	Have     []string `json:"have"` // names of sides
	Lack     []string `json:"lack"`
}

// Excluded is a cell that did not enter, or all of a run.
type Excluded struct {
	Side    string          `json:"side"`
	Cell    string          `json:"cell,omitempty"` // empty: the whole run
	Verdict results.Verdict `json:"verdict"`
	Reasons []string        `json:"reasons"`
}

// JSON is the documented form.
func (c *Comparison) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(c, "", "  ")
	return append(b, '\n'), err
}

// ExitCode is the answer of the process: 0, or 3 where nothing was compared.
// A side that is worse is no failure: that is for a gate to say.
func (c *Comparison) ExitCode() int {
	if len(c.Rows) == 0 {
		return 3
	}
	return 0
}

// Why says why nothing was compared.
func (c *Comparison) Why() string {
	switch {
	case len(c.Excluded) > 0 && len(c.Unmatched) == 0:
		return "no valid cells are on two sides; " + plural(len(c.Excluded), "cell") + " or runs were left out"
	case len(c.Unmatched) > 0:
		return "the sides measured nothing in common; targets or variants of different names are compared with --by target or --by variant"
	}
	return "the runs hold no values"
}

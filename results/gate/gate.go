package gate

import (
	"fmt"
	"strings"
	"time"

	"kbench/results"
	"kbench/results/history"
)

// Rules that are fixed beforehand.
const (
	// Alpha is the chance that noise alone makes a night a regression, over all
	// headline figures together.
	Alpha = 0.01
	// MinNights is how many baseline nights a comparison needs.
	MinNights = 5
	// trialsNeeded is how many trials tonight Mann-Whitney is asked of.
	trialsNeeded = 4
)

// Options are the choices of the user.
type Options struct {
	Thresholds []results.Threshold // besides those of the run's spec
	MinEffect  float64             // smallest change that matters, 0.05 is 5 %; 0 means 0.05
	Floor      time.Duration       // smallest change of a duration that matters; 0 means 1 ms
	Window     int                 // baseline nights, MinNights or more; 0 means 20
	// AllowNoBaseline passes a run of which nothing could be judged since there
	// is no history yet: for the first nights.
	AllowNoBaseline bool
}

func (o *Options) fill() {
	if o.MinEffect == 0 {
		o.MinEffect = 0.05
	}
	if o.Floor == 0 {
		o.Floor = time.Millisecond
	}
	if o.Window == 0 {
		o.Window = 20
	}
}

// floor is the smallest difference that matters; a rate has one of 1/s.
func (o *Options) floor(u results.Unit) float64 {
	if u == results.Nanoseconds {
		return float64(o.Floor)
	}
	return 1
}

// State is what became of one check.
type State string

// NoBaseline is too little history, NoData is nothing measured tonight.
const (
	Passed     State = "passed"
	Missed     State = "missed"
	Improved   State = "improved"
	NoBaseline State = "no-baseline"
	NoData     State = "no-data"
)

// Verdict is what became of the run.
type Verdict string

// Invalid is no regression: the run, or a figure of it, cannot be judged.
// Unjudged means that nothing had a baseline or a threshold.
const (
	Pass      Verdict = "passed"
	Regressed Verdict = "regressed"
	Invalid   Verdict = "invalid"
	Unjudged  Verdict = "no-baseline"
)

// Kinds of checks.
const (
	KindThreshold = "threshold"
	KindHistory   = "history"
)

// Check is one thing that was judged: a threshold in a cell, or a headline
// figure against history.
type Check struct {
	Kind     string       `json:"kind"`
	Cell     string       `json:"cell"` // empty where no cell is meant
	Workload string       `json:"workload,omitempty"`
	Metric   string       `json:"metric"` // metric.phase
	Stat     results.Stat `json:"stat"`
	Unit     results.Unit `json:"unit"`
	Rule     string       `json:"rule"` // in words; a threshold as it was written
	State    State        `json:"state"`
	Value    *float64     `json:"value"`    // in Unit
	Bound    *float64     `json:"bound"`    // beyond which it is missed
	Baseline *float64     `json:"baseline"` // median of the baseline nights
	Nights   int          `json:"nights"`   // of the baseline
	P        *float64     `json:"p"`        // one-sided, of being worse
	Adjusted *float64     `json:"adjusted"` // P by Holm
	Message  string       `json:"message"`

	better   results.Direction
	relative bool // a threshold that needs a baseline
}

// SchemaVersion is the version of the JSON form.
const SchemaVersion = 1

// Report is a judged run: the documented contract of its JSON form.
type Report struct {
	Format        string    `json:"format"` // "kbench-gate"
	SchemaVersion int       `json:"schemaVersion"`
	Run           string    `json:"run"`
	Name          string    `json:"name"` // of the spec
	Started       time.Time `json:"started"`
	Commit        string    `json:"commit,omitempty"`
	SpecHash      string    `json:"specHash"`
	EnvHash       string    `json:"environmentHash"`
	Verdict       Verdict   `json:"verdict"`
	ExitCode      int       `json:"exitCode"`          // 0, 1 or 3
	Reasons       []string  `json:"reasons,omitempty"` // why the verdict is not a pass
	Notes         []string  `json:"notes,omitempty"`
	Checks        []Check   `json:"checks"`
}

// Judge judges a run by its thresholds and, where log is not nil, by history.
// The error is for what cannot be judged at all: a threshold that cannot be
// read, an interleaved comparison, a damaged histogram.
func Judge(run *results.Run, log *history.Log, o Options) (*Report, error) {
	o.fill()
	m := &run.Manifest
	if m.Comparison != nil {
		return nil, fmt.Errorf("%s is an interleaved comparison; `kbench ab %s` judges it", m.ID, run.Dir)
	}
	r := &Report{
		Format: "kbench-gate", SchemaVersion: SchemaVersion, Run: m.ID, Name: m.Name, Started: m.Started,
		Commit: m.Tool.Commit, SpecHash: m.SpecHash, EnvHash: m.EnvHash,
	}
	r.attempts(m)
	if m.Verdict != results.Valid {
		r.notValid(m)
		return r, nil
	}
	b, err := newBaselines(run, log, o)
	if err != nil {
		return nil, err
	}
	if err := r.thresholds(run, b, o); err != nil {
		return nil, err
	}
	if log != nil {
		r.history(b, o)
		r.vanished(b)
	}
	r.conclude(o)
	return r, nil
}

// notValid gives the verdict on a run whose numbers may not be used.
func (r *Report) notValid(m *results.Manifest) {
	r.Verdict, r.ExitCode = Invalid, 3
	r.Reasons = append(r.Reasons, fmt.Sprintf("the run is %s: nothing of it is compared", m.Verdict))
	r.Reasons = append(r.Reasons, m.Reasons...)
}

// attempts says how often cells were run again.
func (r *Report) attempts(m *results.Manifest) {
	for _, c := range m.Cells {
		if n := c.Retried(); n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s was run again %s, since it was invalid; what was invalid is kept and not counted", c.ID, times(n)))
		}
	}
}

// conclude gives the verdict: no data is stronger than a miss, and a miss than
// a pass.
func (r *Report) conclude(o Options) {
	count := make(map[State]int)
	for _, c := range r.Checks {
		count[c.State]++
		if c.State == NoData || c.State == Missed {
			r.Reasons = append(r.Reasons, c.Sentence())
		}
	}
	judged := count[Passed] + count[Improved]
	switch {
	case count[NoData] > 0:
		r.Verdict, r.ExitCode = Invalid, 3
	case count[Missed] > 0:
		r.Verdict, r.ExitCode = Regressed, 1
	case judged > 0:
		r.Verdict = Pass
	case len(r.Checks) == 0:
		r.Verdict, r.ExitCode = Invalid, 3
		r.Reasons = append(r.Reasons, "nothing was judged: the spec has no thresholds; give --threshold or --against")
	default:
		r.Verdict, r.ExitCode = Unjudged, 3
		if o.AllowNoBaseline {
			r.ExitCode = 0
		} else {
			r.Reasons = append(r.Reasons, "nothing was judged: there is no baseline and no absolute threshold; --allow-no-baseline lets the first nights pass")
		}
	}
	if n := count[NoBaseline]; n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("NO BASELINE YET for %d of %s: they say nothing of a regression", n, checks(len(r.Checks))))
	}
}

// Sentence says what became of a check and where.
func (c *Check) Sentence() string {
	var where []string
	if c.Cell != "" {
		where = append(where, c.Cell)
	}
	if c.Kind == KindThreshold {
		where = append(where, c.Rule)
	} else {
		where = append(where, c.Name())
	}
	return strings.Join(where, " ") + ": " + c.Message
}

// Name is the metric, with the workload where it is not the metric's own.
func (c *Check) Name() string {
	if c.Workload == "" || results.WorkloadOf(c.Metric) == c.Workload {
		return c.Metric
	}
	return c.Metric + " during " + c.Workload
}

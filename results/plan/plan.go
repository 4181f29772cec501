package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kbench/results"
	"kbench/results/plan/curve"
)

// SchemaVersion is the version of the JSON form.
const SchemaVersion = 1

// Options are what is asked.
type Options struct {
	SLOs        []SLO
	Need        float64  // partitions that every answer must reach with the lower end of its interval; 0 for none
	WhatIf      []WhatIf // other values of axes; all of them at once
	Extrapolate bool     // answer up to 100 times beyond the largest measured rung instead of 4 times
}

// Plan is what the runs say. Its JSON form is a contract: fields are added,
// not changed, under one SchemaVersion.
type Plan struct {
	Format        string   `json:"format"` // kbench-plan
	SchemaVersion int      `json:"schemaVersion"`
	Runs          []string `json:"runs"`
	Environment   string   `json:"environmentHash"`
	Need          float64  `json:"need,omitempty"` // partitions
	Answers       []Answer `json:"answers"`
	Fits          []Fitted `json:"fits"`   // of the metrics' headlines and of what the objectives bound
	Growth        []Fitted `json:"growth"` // memory and data of nodes
	Excluded      []string `json:"excluded,omitempty"`
	Refused       []string `json:"refused,omitempty"` // what could not be answered at all
	Remarks       []string `json:"remarks,omitempty"` // what makes the numbers doubtful, and what they are of
}

// Fitted is one ladder and its fit.
type Fitted struct {
	Side     string       `json:"side"`
	Metric   string       `json:"metric"`
	Name     string       `json:"name"` // the metric, with the workload where it is another's
	Stat     string       `json:"stat"`
	Unit     results.Unit `json:"unit"`
	Rungs    []rungReport `json:"rungs"`
	Why      string       `json:"why,omitempty"` // there is no fit
	Model    curve.Model  `json:"model,omitempty"`
	Formula  string       `json:"formula,omitempty"`
	Models   []Candidate  `json:"models,omitempty"`
	BackTest *BackTest    `json:"backTest"`          // null where fewer than four rungs were measured
	At       []Prediction `json:"at,omitempty"`      // at the largest rung, at the need, at the capacities
	PerUnit  float64      `json:"perUnit,omitempty"` // of memory and data: bytes for each partition, from the smallest to the largest rung of the fit

	ladder *ladder
}

// Candidate is a model that was tried.
type Candidate struct {
	Model  curve.Model `json:"model"`
	Score  float64     `json:"score"`  // leave-one-rung-out log density, nats; more is better
	SE     float64     `json:"se"`     // standard error of its distance from the best
	Weight float64     `json:"weight"` // in the intervals, 0 to 1
	Error  float64     `json:"error"`  // median relative error of a left-out rung
}

// QuestionError is a question that does not fit the runs: runs that cannot be
// pooled, an axis that they do not have. It is the asker's to mend.
type QuestionError struct{ Err error }

func (e *QuestionError) Error() string { return e.Err.Error() }

func (e *QuestionError) Unwrap() error { return e.Err }

// Make answers. Runs are pooled. The error is a *QuestionError, or says what
// of the runs could not be read; what cannot be answered for want of data is
// in the plan as refused.
func Make(runs []*results.Run, o Options) (*Plan, error) {
	if len(runs) == 0 {
		return nil, &QuestionError{errors.New("no run folder was named")}
	}
	if err := poolable(runs); err != nil {
		return nil, &QuestionError{err}
	}
	p := &Plan{Format: "kbench-plan", SchemaVersion: SchemaVersion, Environment: runs[0].Manifest.EnvHash, Need: o.Need, Answers: []Answer{}, Fits: []Fitted{}, Growth: []Fitted{}}
	var sources []*source
	for _, r := range runs {
		p.Runs = append(p.Runs, r.Manifest.ID)
		s, err := openSource(r)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	var all []*series
	all, p.Excluded = gather(sources)
	p.remark(runs, all)
	if len(all) == 0 {
		p.Refused = append(p.Refused, "no cell of the runs is valid: there is nothing to plan with")
		return p, nil
	}
	for _, w := range o.WhatIf {
		if err := w.known(all); err != nil {
			return nil, &QuestionError{err}
		}
	}
	for _, s := range o.SLOs {
		p.objective(all, s, o)
	}
	p.headlines(all)
	p.grow(all)
	p.predict()
	return p, nil
}

// objective answers one SLO on every side that it is meant for.
func (p *Plan) objective(all []*series, s SLO, o Options) {
	meant := slices.DeleteFunc(slices.Clone(all), func(se *series) bool { return !s.meant(se) })
	if len(meant) == 0 {
		p.Refused = append(p.Refused, fmt.Sprintf("SLO %s: no valid cell is meant by it", s.Text))
		return
	}
	exact, between, axis, err := selectWhatIf(meant, o.WhatIf)
	if err != nil {
		p.Refused = append(p.Refused, fmt.Sprintf("SLO %s: %v", s.Text, err))
		return
	}
	if len(exact)+len(between) == 0 {
		var have []string
		for _, se := range meant {
			if v := axis.of(se); !slices.Contains(have, v) {
				have = append(have, v)
			}
		}
		p.Refused = append(p.Refused, fmt.Sprintf("SLO %s: %v", s.Text, axis.unmeasured(meant[0], have)))
		return
	}
	whatIf := ""
	for i, w := range o.WhatIf {
		if i > 0 {
			whatIf += " "
		}
		whatIf += w.String()
	}
	for _, se := range exact {
		p.answer(se.measures(s), se, s, o, whatIf, func(sub subject, st results.Stat) *ladder { return newLadder(se, sub, st) })
	}
	for _, group := range between {
		p.answer(group[0].measures(s), group[0], s, o, whatIf, func(sub subject, st results.Stat) *ladder { return across(group, axis, sub, st) })
	}
}

// measures lists what of the series the objective bounds.
func (se *series) measures(s SLO) []subject {
	return se.subjects(func(f results.Figure) bool { return f.Metric+"."+f.Phase == s.Metric })
}

// answer answers one SLO on one series. build makes the ladder of a statistic.
func (p *Plan) answer(subjects []subject, se *series, s SLO, o Options, whatIf string, build func(subject, results.Stat) *ladder) {
	if len(subjects) == 0 {
		p.Refused = append(p.Refused, fmt.Sprintf("SLO %s: %s has no valid value of %s; the workload %s measures it", s.Text, se.label, s.Metric, s.metric.Workload))
		return
	}
	for _, sub := range subjects {
		l := build(sub, s.Stat)
		var worst *ladder
		if s.Stat == results.StatMedian {
			end := results.StatMax
			if s.metric.Better == results.Higher {
				end = results.StatMin
			}
			worst = build(sub, end)
		}
		a := l.answer(s, worst, o.Extrapolate)
		a.WhatIf = whatIf
		if whatIf != "" && a.Words != "" {
			a.Words = "with " + whatIf + ", " + a.Words
		}
		p.Answers = append(p.Answers, a)
		p.fitted(&p.Fits, l)
	}
}

// headlines adds the fits of what every series measured.
func (p *Plan) headlines(all []*series) {
	for _, se := range all {
		for _, sub := range se.subjects(func(f results.Figure) bool { return f.Headline }) {
			p.fitted(&p.Fits, newLadder(se, sub, results.StatMedian))
		}
	}
	order := func(f Fitted) int {
		return slices.IndexFunc(results.Metrics(), func(m results.Metric) bool { return m.Name == f.ladder.subject.metric.Name })
	}
	slices.SortStableFunc(p.Fits, func(a, b Fitted) int { return cmp.Compare(order(a), order(b)) })
}

func (p *Plan) grow(all []*series) {
	for _, se := range all {
		for _, l := range se.growth() {
			p.fitted(&p.Growth, l)
		}
	}
}

// fitted adds a ladder, once.
func (p *Plan) fitted(to *[]Fitted, l *ladder) {
	f := Fitted{Side: l.side, Metric: l.metric, Name: l.name, Stat: l.stat, Unit: l.unit, Rungs: l.rungs, ladder: l}
	if slices.ContainsFunc(*to, func(o Fitted) bool {
		return o.Side == f.Side && o.Name == f.Name && o.Stat == f.Stat && o.ladder.series == l.series
	}) {
		return
	}
	if f.Rungs == nil {
		f.Rungs = []rungReport{}
	}
	if l.err != nil {
		f.Why = l.err.Error()
		*to = append(*to, f)
		return
	}
	f.Model, f.Formula, f.BackTest = l.fit.Chosen, l.formula(), l.backTest()
	for _, m := range l.fit.Models {
		f.Models = append(f.Models, Candidate{m.Model, m.Score, m.SE, m.Weight, m.Error})
	}
	if l.unit == results.Bytes && l.top() > l.bottom() {
		f.PerUnit = (l.at(l.top()).Value - l.at(l.bottom()).Value) / (l.top() - l.bottom())
	}
	*to = append(*to, f)
}

// predict fills in what each fit says at the sizes of interest: its largest
// rung, the need, and the capacities of its side.
func (p *Plan) predict() {
	for _, fits := range [][]Fitted{p.Fits, p.Growth} {
		for i := range fits {
			f := &fits[i]
			if f.ladder.fit == nil {
				continue
			}
			at := []float64{f.ladder.top()}
			if p.Need > 0 && p.Need <= MostBeyond*f.ladder.top() {
				at = append(at, p.Need)
			}
			for _, a := range p.Answers {
				if a.Side == f.Side && a.Partitions != nil {
					at = append(at, *a.Partitions)
				}
			}
			slices.Sort(at)
			for _, n := range slices.Compact(at) {
				f.At = append(f.At, f.ladder.at(n))
			}
		}
	}
}

// ExitCode is the process's answer: 3 where something could not be answered,
// 1 where a side misses an objective at its smallest rung or the need, else 0.
func (p *Plan) ExitCode() int {
	code := 0
	if len(p.Refused) > 0 {
		return 3
	}
	for _, a := range p.Answers {
		switch {
		case a.Status == Refused:
			return 3
		case a.Status == Unmet, p.Need > 0 && !a.meets(p.Need):
			code = 1
		}
	}
	if len(p.Answers) == 0 && !slices.ContainsFunc(p.Fits, func(f Fitted) bool { return f.Why == "" }) {
		return 3
	}
	return code
}

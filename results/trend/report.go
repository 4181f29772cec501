package trend

import (
	"slices"
	"time"

	"kbench/results"
	"kbench/results/history"
)

// Report is the analysis of every series that is watched.
type Report struct {
	History  string // the file
	Rule     Rule   // of one series, as For gives it
	Nights   int    // the most nights of a series
	Analyses []Analysis
	Ended    int // series that other settings or another environment ended, left out
	Notes    []string
}

// Watch says which series are analysed.
type Watch struct {
	Metric string // metric or metric.phase; empty: the headline of every metric
	Cell   string // empty: all
	All    bool   // every phase, and series that have ended
}

// picks reports whether a series is watched.
func (w Watch) picks(s *history.Series) bool {
	if w.Cell != "" && w.Cell != s.Cell {
		return false
	}
	if w.Metric != "" {
		a := history.Accept{Metric: w.Metric}
		m, phase, err := results.FindMetric(w.Metric)
		isMetric := err == nil && m.Name == w.Metric
		return a.Covers(s.Cell, s.Name()) && (!isMetric || w.All || s.Phase == phase)
	}
	return w.All || s.Headline
}

// NewReport analyses what is watched of a history.
func NewReport(l history.Loaded, w Watch, r Rule) (*Report, error) {
	rep := &Report{History: l.Path, Notes: l.Notes}
	var watched []history.Series
	elsewhere := make(map[history.SeriesKey]int)
	for _, same := range figures(l.Series) {
		total := 0
		for i := range same {
			total += len(same[i].Readings)
		}
		for i := range same {
			s := &same[i]
			if !w.picks(s) {
				continue
			}
			if i > 0 && !w.All && !alive(s, same) {
				rep.Ended++
				continue
			}
			watched = append(watched, *s)
			elsewhere[s.SeriesKey] = total - len(s.Readings)
		}
	}
	rep.Rule = r.For(len(watched))
	for _, s := range watched {
		a, err := Analyze(s, l.Accepts, rep.Rule)
		if err != nil {
			return nil, err
		}
		a.Elsewhere = elsewhere[s.SeriesKey]
		rep.Nights = max(rep.Nights, len(a.Points))
		rep.Analyses = append(rep.Analyses, a)
	}
	return rep, nil
}

// figures groups the series of one figure: they differ in settings or
// environment alone. That which ended last comes first.
func figures(series []history.Series) [][]history.Series {
	var out [][]history.Series
	for start, i := 0, 1; i <= len(series); i++ {
		if i < len(series) && sameFigure(series[start].SeriesKey, series[i].SeriesKey) {
			continue
		}
		out, start = append(out, series[start:i]), i
	}
	return out
}

func sameFigure(a, b history.SeriesKey) bool {
	a.Comparable, b.Comparable = "", ""
	return a == b
}

// aliveNights is how many of a figure's last nights must hold one of a series
// for it to go on: several machines may measure in turns.
const aliveNights = 14

func alive(s *history.Series, same []history.Series) bool {
	var nights []time.Time
	for i := range same {
		for _, r := range same[i].Readings {
			nights = append(nights, r.At)
		}
	}
	slices.SortFunc(nights, time.Time.Compare)
	since := nights[max(0, len(nights)-aliveNights)]
	return !s.Readings[len(s.Readings)-1].At.Before(since)
}

// Alerts counts the changes that are new.
func (r *Report) Alerts() int {
	n := 0
	for i := range r.Analyses {
		n += len(r.Analyses[i].Alerts())
	}
	return n
}

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kbench/results"
	"kbench/results/report/chart"
)

// remarkSection is what a reader must know beside the figures.
func (rep *Report) remarkSection() section {
	s := section{ID: "remarks", Title: "Remarks"}
	// Thresholds have a table of their own.
	rs := slices.DeleteFunc(rep.remarks(), func(r string) bool { return strings.HasPrefix(r, "threshold ") })
	if len(rs) > 0 {
		s.Parts = []part{{Items: rs}}
	}
	return s
}

// profileSection links what was kept of the insides of nodes.
func (rep *Report) profileSection() section {
	s := section{ID: "profiles", Title: "Profiles", Intro: "Files of the run folder: CPU and heap profiles for go tool pprof, flight recordings for JDK Mission Control or jfr print."}
	var links []string
	for _, f := range rep.Run.Files {
		if strings.HasSuffix(f.Name, ".pprof") || strings.HasSuffix(f.Name, ".jfr") {
			links = append(links, f.Name)
		}
	}
	if len(links) > 0 {
		s.Parts = []part{{Links: links}}
	}
	return s
}

// resourceSection is what each node used, in numbers.
func (rep *Report) resourceSection() section {
	s := section{ID: "resources", Title: "Resources by node", Intro: "Over all repeats of a cell. CPU is user and system time while the node ran; memory and goroutines are the most seen. The timelines show them over time."}
	t := &dataTable{Caption: "Resources by node", Head: []string{"side", rep.pointHeader(), "node", "CPU", "mean cores", "peak memory", "peak heap", "goroutines", "written", "data"}, Numbers: 3}
	for _, u := range rep.Resources {
		heap, goroutines, data := "–", "–", "–"
		if u.PeakHeap > 0 {
			heap = chart.Bytes(float64(u.PeakHeap))
		}
		if u.Goroutines > 0 {
			goroutines = fmt.Sprint(u.Goroutines)
		}
		if u.DataBytes > 0 {
			data = chart.Bytes(float64(u.DataBytes))
		}
		t.Rows = append(t.Rows, row{Cells: []string{
			rep.side(u.Cell), rep.point(u.Cell), u.Node, fmt.Sprintf("%.1f s", u.CPUSeconds), fmt.Sprintf("%.2f", u.cores()), chart.Bytes(float64(u.PeakRSS)),
			heap, goroutines, chart.Bytes(float64(u.WrittenBytes)), data,
		}})
	}
	if len(t.Rows) > 0 {
		s.Parts = []part{{Fold: &fold{Summary: plural(len(t.Rows), "node of a cell", "nodes of all cells"), Parts: []part{{Table: t}}}}}
	}
	return s
}

// figureSection has every number of every phase.
func (rep *Report) figureSection() section {
	s := section{ID: "figures", Title: "All figures", Intro: "n valid trials, or values and the repeats that gave them, their minimum, median and maximum. Headlines stand out."}
	for _, bl := range rep.blocks() {
		parts := []part{{Table: rep.blockView(bl)}}
		var terms [][2]string
		for _, ph := range bl.metric.Phases {
			terms = append(terms, [2]string{ph.Name, ph.Doc})
		}
		s.Parts = append(s.Parts, part{Fold: &fold{Summary: rep.title(bl), Parts: append(parts, part{Terms: terms})}})
	}
	if lines := rep.outageLines(); len(lines) > 0 {
		s.Parts = append(s.Parts, part{Fold: &fold{Summary: outagesTitle, Parts: []part{{Items: lines}}}})
	}
	return s
}

// blockView is a block as a table, a group of columns for each side.
func (rep *Report) blockView(bl block) *dataTable {
	withCI := bl.hasCI()
	t := &dataTable{Caption: upper(bl.metric.Doc), Head: []string{"phase", rep.pointHeader()}, Numbers: 2, Groups: []group{{Span: 2}}}
	for i, s := range rep.Sides {
		head := []string{bl.numberHeader(), "min", "median", "max"}
		if withCI {
			head = append(head, "95% of median")
		}
		t.Head = append(t.Head, head...)
		t.Groups = append(t.Groups, group{Name: s, Span: len(head), Class: chart.SideClass(i)})
	}
	for _, r := range bl.rows {
		line := row{Cells: []string{r.phase.Name, r.point}}
		if r.headline {
			line.Class = "headline"
		}
		for _, f := range r.cells {
			line.Cells = append(line.Cells, figureText(f, withCI)...)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// pointTable is the medians of all headlines, or of all other phases, by
// point.
func (rep *Report) pointTable(headlines bool) *dataTable {
	t := &dataTable{Caption: "Medians, with the extremes", Head: []string{"phase", rep.pointHeader()}, Numbers: 2}
	for i, s := range rep.Sides {
		t.Head = append(t.Head, "median", "min to max")
		t.Groups = append(t.Groups, group{Name: s, Span: 2, Class: chart.SideClass(i)})
	}
	t.Groups = append([]group{{Span: 2}}, t.Groups...)
	for _, bl := range rep.blocks() {
		for _, r := range bl.rows {
			if r.headline != headlines {
				continue
			}
			line := row{Cells: []string{rep.phaseTitle(bl, r.phase.Name), r.point}}
			for _, f := range r.cells {
				if f == nil || f.N == 0 {
					line.Cells = append(line.Cells, "–", "–")
					continue
				}
				line.Cells = append(line.Cells, results.FormatValue(f.Median, f.Unit), results.FormatValue(f.Min, f.Unit)+" to "+results.FormatValue(f.Max, f.Unit))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}

// trialSection lists what is in no figure and what stands out.
func (rep *Report) trialSection() section {
	s := section{ID: "trials", Title: "Excluded and outlying trials"}
	if len(rep.Excluded) > 0 {
		t := &dataTable{Caption: "Invalid trials: in no figure, by rules fixed beforehand", Head: []string{"cell", "workload", "repeat", "trial", "node", "reason"}, Numbers: 2, Words: 2}
		for _, e := range rep.Excluded {
			t.Rows = append(t.Rows, row{Cells: []string{e.Cell, e.Workload + rep.how(e.Workload), fmt.Sprint(e.Repeat), fmt.Sprint(e.Trial), e.Subject, e.Reason}})
		}
		s.Parts = append(s.Parts, part{Table: t})
		if rep.ExcludedMore > 0 {
			s.Parts = append(s.Parts, part{Text: fmt.Sprintf("%d more are in trials.csv.", rep.ExcludedMore)})
		}
	}
	if len(rep.Outliers) > 0 {
		t := &dataTable{Caption: "Outliers among the headlines (GESD on logarithms): flagged, and in every figure all the same", Head: []string{"cell", "workload", "repeat", "trial", "metric", "value"}, Numbers: 5}
		for _, o := range rep.Outliers {
			t.Rows = append(t.Rows, row{Cells: []string{o.Cell, o.Workload + rep.how(o.Workload), fmt.Sprint(o.Repeat), fmt.Sprint(o.Trial), o.Metric, results.FormatValue(o.Value, o.Unit)}})
		}
		s.Parts = append(s.Parts, part{Table: t})
	}
	if len(s.Parts) == 0 && len(rep.Figures) > 0 {
		s.Parts = []part{{Text: fmt.Sprintf("No trial was excluded. Among headlines with %d trials or more, none stands out.", outliersNeed)}}
	}
	return s
}

// checkSection is what was demanded of the run and what was checked.
func (rep *Report) checkSection() section {
	s := section{ID: "checks", Title: "Thresholds and checks"}
	if len(rep.Run.Thresholds) > 0 {
		t := &dataTable{Caption: "Thresholds of the spec", Head: []string{"threshold", "cell", "value", "outcome"}, Numbers: 4}
		for _, o := range rep.Run.Thresholds {
			t.Rows = append(t.Rows, row{Cells: []string{o.Threshold, o.Cell, thresholdValue(o), outcomeWord(o)}})
		}
		s.Parts = append(s.Parts, part{Table: t})
	}
	t := &dataTable{Caption: "Invariants, by cell", Head: []string{"cell", "check", "outcome", "things looked at"}, Numbers: 3}
	held := 0
	for _, c := range rep.Run.Cells {
		for _, ch := range c.Checks {
			outcome := "holds"
			if !ch.OK {
				outcome = "BROKEN"
			} else {
				held++
			}
			looked := fmt.Sprint(ch.Looked)
			if ch.Note != "" {
				looked += " (" + ch.Note + ")"
			}
			t.Rows = append(t.Rows, row{Cells: []string{c.ID, ch.Name, outcome, looked}})
		}
	}
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, part{Fold: &fold{Summary: fmt.Sprintf("%d of %d invariants hold", held, len(t.Rows)), Open: held < len(t.Rows), Parts: []part{{Table: t}}}})
	}
	return s
}

func outcomeWord(o results.Outcome) string {
	switch {
	case o.Value == nil:
		return "NO DATA"
	case o.Holds:
		return "holds"
	}
	return "MISSED"
}

// thresholdValue writes the value in the unit of the threshold's metric.
func thresholdValue(o results.Outcome) string {
	if o.Value == nil {
		return "–"
	}
	th, err := results.ParseThreshold(o.Threshold)
	if err != nil || th.Stat == results.StatN {
		return fmt.Sprint(*o.Value)
	}
	m, _, _ := results.FindMetric(th.Metric)
	return results.FormatValue(*o.Value, m.Unit)
}

// differSection is what is not the same on all sides.
func (rep *Report) differSection() section {
	s := section{ID: "differs", Title: "What differs between the sides", Intro: "By the design of the run. Settings that are not listed are the same on all sides."}
	if len(rep.Sides) < 2 {
		return s
	}
	t := &dataTable{Caption: "What differs", Head: append([]string{"what"}, rep.Sides...), Numbers: len(rep.Sides) + 1}
	for _, c := range rep.contrasts() {
		line := row{Cells: []string{c.What}}
		for _, side := range rep.Sides {
			v := c.Values[side]
			if v == "" {
				v = "–"
			}
			line.Cells = append(line.Cells, v)
		}
		t.Rows = append(t.Rows, line)
	}
	s.Parts = []part{{Table: t}}
	return s
}

// environmentSection is where it ran.
func (rep *Report) environmentSection() section {
	m, e, o := rep.Run, rep.Run.Environment, rep.Run.Observed
	terms := [][2]string{
		{"machine", fmt.Sprintf("%s, %d cores, GOMAXPROCS %d, %d MB", e.CPU, e.Cores, e.GoMaxProcs, e.MemoryMB)},
		{"system", strings.TrimSpace(fmt.Sprintf("%s/%s, kernel %s", e.OS, e.Arch, e.Kernel))},
		{"data directory", e.FileSystem},
	}
	add := func(name, value string) {
		if value != "" {
			terms = append(terms, [2]string{name, value})
		}
	}
	add("CPU quota", e.CPUQuota)
	for _, name := range slices.Sorted(maps.Keys(e.Versions)) {
		add(name, e.Versions[name])
	}
	if o.FsyncP50 > 0 {
		add("fsync of 4 KiB", "median "+duration(float64(o.FsyncP50)))
	}
	if o.Load1 >= 0 {
		add("load before", fmt.Sprintf("%.2f", o.Load1))
	}
	add("provider", m.Provider+brackets(m.ProviderWhy))
	stores := rep.stores()[0].Values
	for _, side := range rep.Sides {
		add("metadata store of "+side, stores[side])
	}
	add("kbench", rep.tool()+brackets(m.Tool.Go))
	add("seed", fmt.Sprint(m.Seed))
	add("started", m.Started.UTC().Format(time.RFC3339))
	return section{ID: "environment", Title: "Environment", Parts: []part{{Terms: terms}}}
}

// methodSection is the rules by which the numbers came about.
func (rep *Report) methodSection() section {
	items := []string{
		"All stamps are of one clock, CLOCK_MONOTONIC of the machine that measures.",
		"A latency starts at the intended time of its operation: load is sent in an open loop, and a late operation counts from when it was due.",
		"A trial is one injected event. Invalid trials broke a rule fixed beforehand; they are listed and are in no figure. A run is valid only where every cell is.",
		"Medians and their 95 % intervals are order statistics over trials; where a trial has many values, over the medians of repeats, since only these are independent: six are needed. Percentiles are shown where n values can describe them; of many values a trial they describe what was measured and bound nothing. Histograms of repeats are merged, percentiles are never averaged.",
		"Headlines are compared by the Mann-Whitney test, corrected after Holm over the headlines of one point, with the Hodges-Lehmann ratio and its interval. A difference is shown where both agree at 5 %.",
		"Where a trial has many values (propagation, unavailability), they depend on each other: compared are the medians of repeats, one value each. Two runs may still differ by more than the clusters of one: interleaved pairs (kbench ab) measure that.",
	}
	for _, bl := range rep.blocks() {
		var phases []string
		for _, ph := range bl.metric.Phases {
			phases = append(phases, ph.Name+": "+ph.Doc)
		}
		if bl.workload == bl.metric.Workload {
			items = append(items, fmt.Sprintf("%s: %s (%s).", bl.metric.Name, bl.metric.Doc, strings.Join(phases, "; ")))
		}
	}
	return section{ID: "method", Title: "Method", Parts: []part{{Items: items}}}
}

// reproduceSection is the command line and the spec, to be copied.
func (rep *Report) reproduceSection() section {
	return section{
		ID: "reproduce", Title: "How to reproduce",
		Intro: fmt.Sprintf("Spec %s, environment %s, seed %d.", rep.Run.SpecHash, rep.Run.EnvHash, rep.Run.Seed),
		Parts: []part{
			{Code: &code{"command", "Command line", commandLine(rep.Run.CommandLine)}},
			{Code: &code{"spec", "Spec, in its normalised form", rep.Run.SpecYAML}},
		},
	}
}

// commandLine quotes what a shell would read otherwise.
func commandLine(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		plain := a != "" && !strings.ContainsFunc(a, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./=:,+@%", r)
		})
		if plain {
			out[i] = a
		} else {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

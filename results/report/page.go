package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"

	"kbench/results"
	"kbench/results/paired"
	"kbench/results/report/chart"
)

// The page's parts. They are in the file itself: the page asks nothing of any
// network, and its policy forbids it to.
var (
	//go:embed page.html.tmpl
	pageSource string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
	//go:embed uplot/uplot.min.css
	uplotCSS string
	//go:embed uplot/uplot.min.js
	uplotJS string
)

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// page is what the page shows. The template escapes every text.
type page struct {
	Policy   string
	Style    template.HTML
	Scripts  []template.HTML
	Title    string
	Folder   string
	Verdict  string
	Badges   []badge
	Facts    []string
	Lead     string
	Note     string
	Patterns template.HTML
	Sections []section
}

// badge is a short state beside the title.
type badge struct{ Class, Text string }

// section is a part of the page with a heading.
type section struct {
	ID, Title, Intro string
	Parts            []part
}

// part is one block of a section; one of its fields is set.
type part struct {
	Text   string
	Figure *figure
	Table  *dataTable
	Items  []string
	Links  []string // to files of the run folder, relative to it
	Terms  [][2]string
	Code   *code
	Fold   *fold
}

// fold is parts that are shown on demand.
type fold struct {
	Summary string
	Open    bool
	Parts   []part
}

// code is text to be copied.
type code struct{ ID, Name, Text string }

// figure is a chart and the table of what it shows.
type figure struct {
	ID, Title, Caption string
	Wide, Narrow       template.HTML // one drawing for each width of page
	Panels             []panel
	Key                []key
	Table              *dataTable
	Data               *data // for the interactive view, nil for none
}

// panel is one of several small charts.
type panel struct {
	Title string
	Chart template.HTML
}

// key says what a pattern means.
type key struct{ Class, Text string }

// data is what the interactive view of a figure shows.
type data struct {
	ID   string
	JSON template.HTML
}

// dataTable is a table; columns from Numbers on hold numbers, but for the last
// Words.
type dataTable struct {
	Caption string
	Groups  []group // above the head; nil for none
	Head    []string
	Rows    []row
	Numbers int
	Words   int
}

// Num reports whether a column holds numbers.
func (t *dataTable) Num(column int) bool {
	return column >= t.Numbers && column < len(t.Head)-t.Words
}

// Word reports whether a column is one of the last, whose cells are sentences.
func (t *dataTable) Word(column int) bool {
	return t.Words > 0 && column == len(t.Head)-1
}

type group struct {
	Name  string
	Span  int
	Class string
}

type row struct {
	Class string
	Cells []string
}

// HTML is one self-contained file: it works offline and without scripts,
// prints, follows the reader's light or dark mode, and can be read by keyboard
// and by ear.
func (rep *Report) HTML() ([]byte, error) {
	p := page{
		Title: rep.Run.Name, Folder: rep.Run.ID, Verdict: string(rep.Run.Verdict), Badges: rep.badges(), Facts: rep.facts(),
		Patterns: chart.Patterns(), Sections: rep.sections(),
	}
	p.Lead, p.Note = rep.lead()
	css, scripts := pageCSS, []string{pageJS}
	if len(rep.timelines) > 0 {
		css, scripts = uplotCSS+"\n"+pageCSS, []string{uplotJS, pageJS}
	}
	p.Style = template.HTML("<style>" + css + "</style>") //nolint:gosec // embedded
	hashes := make([]string, len(scripts))
	for i, s := range scripts {
		p.Scripts = append(p.Scripts, template.HTML("<script>"+s+"</script>")) //nolint:gosec // embedded
		hashes[i] = digest(s)
	}
	p.Policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'", digest(css), strings.Join(hashes, " "))
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("make the page: %w", err)
	}
	return b.Bytes(), nil
}

// digest names a script or style to the page's policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// sections lists the page's sections in the order of a reader's questions.
// Those that have nothing to show are left out.
func (rep *Report) sections() []section {
	var out []section
	for _, s := range []section{
		rep.headlineSection(), rep.remarkSection(), rep.phaseSection(), rep.scaleSection(), rep.percentileSection(), rep.brokerSection(),
		rep.throughputSection(), rep.availabilitySection(), rep.timelineSection(), rep.resourceSection(), rep.profileSection(), rep.figureSection(), rep.trialSection(),
		rep.checkSection(), rep.differSection(), rep.environmentSection(), rep.methodSection(), rep.reproduceSection(),
	} {
		if len(s.Parts) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func (rep *Report) badges() []badge {
	out := []badge{rep.verdictBadge()}
	missed, empty := 0, 0
	for _, o := range rep.Run.Thresholds {
		switch {
		case o.Value == nil:
			empty++
		case !o.Holds:
			missed++
		}
	}
	switch n := len(rep.Run.Thresholds); {
	case missed > 0:
		out = append(out, badge{"verdict-invalid", fmt.Sprintf("%d of %d thresholds missed", missed, n)})
	case empty > 0:
		out = append(out, badge{"verdict-inconclusive", fmt.Sprintf("%d of %d thresholds have no data", empty, n)})
	case n > 0:
		out = append(out, badge{"verdict-valid", plural(n, "threshold holds", "thresholds hold")})
	}
	if rep.Run.Interrupted {
		out = append(out, badge{"verdict-inconclusive", "interrupted"})
	}
	return out
}

// verdictBadge says what became of the run. A comparison of pairs has a verdict
// of its own, which is not that of its cells.
func (rep *Report) verdictBadge() badge {
	if rep.pairs == nil || rep.Run.Verdict != results.Valid {
		return badge{"verdict-" + string(rep.Run.Verdict), string(rep.Run.Verdict)}
	}
	class := "verdict-valid"
	switch rep.pairs.Verdict {
	case paired.Inconclusive:
		class = "verdict-inconclusive"
	case paired.Invalid:
		class = "verdict-invalid"
	}
	return badge{class, string(rep.pairs.Verdict)}
}

// facts are where and when, each in a few words.
func (rep *Report) facts() []string {
	m := rep.Run
	e := m.Environment
	out := []string{m.Started.UTC().Format("2006-01-02 15:04 MST")}
	if d := m.Ended.Sub(m.Started); d > 0 {
		took := d.Round(time.Second).String()
		if m.EstimateNs > 0 {
			took += fmt.Sprintf(" (estimated %s)", time.Duration(m.EstimateNs).Round(time.Second))
		}
		out = append(out, took)
	}
	out = append(out, plural(len(m.Cells), "cell", "cells"))
	if e.CPU != "" {
		out = append(out, fmt.Sprintf("%s, %d cores, %.3g GB", e.CPU, e.Cores, float64(e.MemoryMB)/1024))
	}
	if m.Provider != "" {
		out = append(out, rep.provider())
	}
	return append(out, "kbench "+rep.tool())
}

// tool names the kbench that measured.
func (rep *Report) tool() string {
	t := rep.Run.Tool
	name := t.Version
	if t.Commit != "" && !strings.HasPrefix(t.Commit, t.Version) {
		name += " " + t.Commit[:min(len(t.Commit), 12)]
	}
	if t.Dirty {
		name += " (changed)"
	}
	return name
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// axisLabel writes values of a unit at an axis.
func axisLabel(u results.Unit) chart.Label {
	switch u {
	case results.PerSecond:
		return chart.Rate
	case results.Number:
		return chart.Count
	case results.Bytes:
		return chart.Bytes
	}
	return chart.Duration
}

// sideIndex is the place of a side, which decides its colour.
func (rep *Report) sideIndex(name string) int {
	for i, s := range rep.Sides {
		if s == name {
			return i
		}
	}
	return 0
}

// side and point are where a cell stands.
func (rep *Report) side(cell string) string  { return rep.place(cell).Side }
func (rep *Report) point(cell string) string { return rep.place(cell).Point }

func (rep *Report) place(cell string) CellPlace {
	for _, p := range rep.CellPoint {
		if p.Cell == cell {
			return p
		}
	}
	return CellPlace{Cell: cell}
}

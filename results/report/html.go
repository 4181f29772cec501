package report

import (
	"bytes"
	_ "embed"
	"html/template"

	"kbench/results"
)

//go:embed report.html.tmpl
var htmlSource string

var htmlTemplate = template.Must(template.New("report").Parse(htmlSource))

// htmlView is what the page shows, as text: the template escapes all of it.
type htmlView struct {
	Report   *Report
	Headline string
	Point    string
	Blocks   []htmlBlock
	Differs  [][]string
	Remarks  []string
	Command  string
}

type htmlBlock struct {
	Name, Doc string
	WithCI    bool
	Phases    []results.Phase
	Rows      []htmlRow
}

type htmlRow struct {
	Phase, Point string
	Headline     bool
	Cells        []any
}

// HTML is one self-contained file without scripts: it works offline, prints,
// and follows the reader's light or dark mode.
func (rep *Report) HTML() ([]byte, error) {
	v := htmlView{Report: rep, Headline: rep.headline(), Point: rep.pointHeader(), Remarks: rep.remarks()}
	for _, bl := range rep.blocks() {
		hb := htmlBlock{Name: bl.title(), Doc: bl.metric.Doc, WithCI: bl.hasCI(), Phases: bl.metric.Phases}
		for _, r := range bl.rows {
			row := htmlRow{Phase: r.phase.Name, Point: r.point, Headline: r.headline}
			for _, f := range r.cells {
				row.Cells = append(row.Cells, figureCells(f, hb.WithCI)...)
			}
			hb.Rows = append(hb.Rows, row)
		}
		v.Blocks = append(v.Blocks, hb)
	}
	for _, c := range rep.contrasts() {
		row := []string{c.What}
		for _, s := range rep.Sides {
			row = append(row, c.Values[s])
		}
		v.Differs = append(v.Differs, row)
	}
	for i, a := range rep.Run.CommandLine {
		if i > 0 {
			v.Command += " "
		}
		v.Command += a
	}
	var b bytes.Buffer
	if err := htmlTemplate.Execute(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

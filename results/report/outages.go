package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kbench/results"
)

// Outages is how many of the partitions that were probed had an outage: those that
// had none are in no figure of unavailability. It sums the valid trials of a
// workload in a cell.
type Outages struct {
	Cell     string `json:"cell"`
	Workload string `json:"workload"`
	Probed   int64  `json:"probed"` // partitions, once for each trial
	Had      int64  `json:"had"`    // of them that had an outage
	Open     int64  `json:"open"`   // of these whose end was not seen, so that they are in no figure
}

type outageKey struct {
	cell, workload string
	repeat         int
}

// takeOutages adds what a valid trial counted.
func (s *story) takeOutages(e results.Event) {
	valid, _ := e.Data["valid"].(bool)
	probed, had := e.Data["partitions.probed"], e.Data["outages"]
	if !valid || probed == nil || had == nil {
		return
	}
	key := outageKey{e.Cell, e.Workload, e.Repeat}
	o := s.outages[key]
	o.Probed += int64(number(probed))
	o.Had += int64(number(had))
	o.Open += int64(number(e.Data["outages.open"]))
	s.outages[key] = o
}

// dropOutages forgets what an attempt measured that is not counted.
func (s *story) dropOutages(cell string, repeat int) {
	for key := range s.outages {
		if key.cell == cell && key.repeat == repeat {
			delete(s.outages, key)
		}
	}
}

// sumOutages adds up the repeats, in the order of workloads and cells.
func (s *story) sumOutages(place map[string]int) []Outages {
	out := []Outages{}
	for key, o := range s.outages {
		i := slices.IndexFunc(out, func(have Outages) bool { return have.Cell == key.cell && have.Workload == key.workload })
		if i < 0 {
			i = len(out)
			out = append(out, Outages{Cell: key.cell, Workload: key.workload})
		}
		out[i].Probed, out[i].Had, out[i].Open = out[i].Probed+o.Probed, out[i].Had+o.Had, out[i].Open+o.Open
	}
	slices.SortFunc(out, func(a, b Outages) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(place[a.Cell], place[b.Cell]))
	})
	return out
}

// outagesTitle heads the lines of outageLines.
const outagesTitle = "Probed partitions that had an outage"

// outageLines says for each workload how many of the probed partitions had an
// outage.
func (rep *Report) outageLines() []string {
	var out []string
	last := ""
	for _, o := range rep.Outages {
		told := fmt.Sprintf("%s %s: %d of %d", rep.side(o.Cell), rep.point(o.Cell), o.Had, o.Probed)
		if o.Open > 0 {
			told += fmt.Sprintf(", the end of %d not seen", o.Open)
		}
		if o.Workload != last {
			last = o.Workload
			out = append(out, o.Workload+rep.how(o.Workload)+": "+told)
			continue
		}
		out[len(out)-1] += "; " + told
	}
	return out
}

// outagesText is outageLines as text.
func (rep *Report) outagesText() string {
	lines := rep.outageLines()
	if len(lines) == 0 {
		return ""
	}
	b := strings.ToLower(outagesTitle[:1]) + outagesTitle[1:] + "\n"
	for _, l := range lines {
		b += results.OneLine(l) + "\n"
	}
	return b + "\n"
}

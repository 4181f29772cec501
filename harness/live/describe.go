package live

import (
	"fmt"
	"math"
	"strings"
	"time"

	"kbench/harness"
	"kbench/results"
)

// Describe says in words where a run is.
func Describe(p harness.Progress) string {
	return place(p) + ": " + doing(p)
}

// Step is Describe without what changes within a cell, a workload or a trial.
func Step(p harness.Progress) string {
	p.Work.Done, p.Work.Total = 0, 0
	if p.Work.Trial > 0 {
		p.Work.Phase = ""
	}
	return Describe(p)
}

// place names the cell.
func place(p harness.Progress) string {
	s := fmt.Sprintf("cell %d/%d %s", p.Cell, p.Cells, p.Target)
	if p.Variant != "" && p.Variant != "base" {
		s += " " + p.Variant
	}
	return fmt.Sprintf("%s %d partitions", s, p.Partitions)
}

// doing names the phase, workload and trial.
func doing(p harness.Progress) string {
	w := p.Work
	if p.Phase != "workload" {
		return p.Phase
	}
	var b strings.Builder
	b.WriteString(w.Workload)
	if w.Trials > 0 && w.Trial > 0 {
		fmt.Fprintf(&b, " trial %d/%d", w.Trial, w.Trials)
	}
	if w.Phase != "" {
		fmt.Fprintf(&b, " %s", w.Phase)
	}
	if w.Total > 0 {
		fmt.Fprintf(&b, " %d/%d", w.Done, w.Total)
	}
	return b.String()
}

// headlineText sums up the headline so far, empty where it has no value.
func headlineText(h harness.Headline) string {
	if h.N == 0 {
		return ""
	}
	s := "p50 " + results.FormatValue(h.P50, h.Unit)
	if !math.IsNaN(h.P99) {
		s += ", p99 " + results.FormatValue(h.P99, h.Unit)
	}
	return fmt.Sprintf("%s, max %s, n %d", s, results.FormatValue(h.Max, h.Unit), h.N)
}

func controllerText(c harness.Controller) string {
	switch {
	case c.ID == 0:
		return "not known"
	case c.Epoch < 0:
		return fmt.Sprint(c.ID)
	}
	return fmt.Sprintf("%d, epoch %d", c.ID, c.Epoch)
}

func faultsText(faults []harness.ActiveFault) string {
	out := make([]string, len(faults))
	for i, f := range faults {
		out[i] = fmt.Sprintf("%s of %d", f.Fault, f.Node)
	}
	return strings.Join(out, ", ")
}

// leftText is the guess of the time left with its separator, or nothing.
func leftText(s Snapshot) string {
	if !s.LeftKnown {
		return ""
	}
	return fmt.Sprintf(", about %s left", clock(s.Left))
}

// clock writes 1:02:03, or 2:03 under an hour.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

package live

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"kbench/harness"
	"kbench/kafka"
	"kbench/results"
	"kbench/workloads"
)

// story is one view on a fake terminal, with a clock that the test moves.
type story struct {
	now   time.Time
	term  *vt
	plain *strings.Builder
	board *Board
	view  *View
	p     harness.Progress
}

func newStory(t *testing.T, d *datadriven.TestData) *story {
	s := &story{now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	name := "nightly"
	if d.HasArg("name") {
		d.ScanArgs(t, "name", &name)
	}
	plan := Plan{Name: strings.ReplaceAll(name, "_", " ")}
	if d.HasArg("cells") {
		n := 0
		d.ScanArgs(t, "cells", &n)
		plan.Total = time.Duration(n) * time.Minute
		plan.Cell = func(string) time.Duration { return time.Minute }
	}
	s.board = newBoard(plan, func() time.Time { return s.now })
	if d.HasArg("plain") {
		s.plain = &strings.Builder{}
		s.view = newView(s.plain, nil, s.board)
		return s
	}
	columns, rows := 80, 24
	d.MaybeScanArgs(t, "columns", &columns)
	d.MaybeScanArgs(t, "rows", &rows)
	s.term = newVT(t, columns, rows)
	s.view = newView(s.term, &Terminal{Size: s.term.Size}, s.board)
	return s
}

// update changes what arguments name and tells the board.
func (s *story) update(t *testing.T, d *datadriven.TestData) {
	p := &s.p
	p.Trial = nil
	var node int
	var fault string
	var p50, p99 float64
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "cell":
			*p = harness.Progress{Controller: harness.Controller{Epoch: -1}}
			d.ScanArgs(t, "cell", &p.Cell, &p.Cells)
			p.ID = fmt.Sprint("cell", p.Cell)
		case "target":
			d.ScanArgs(t, "target", &p.Target, &p.Partitions)
		case "variant":
			d.ScanArgs(t, "variant", &p.Variant)
		case "phase":
			d.ScanArgs(t, "phase", &p.Phase)
		case "work":
			p.Phase = "workload"
			d.ScanArgs(t, "work", &p.Work.Workload, &p.Work.Trial, &p.Work.Trials, &p.Work.Phase)
		case "done":
			d.ScanArgs(t, "done", &p.Work.Done, &p.Work.Total)
		case "controller":
			d.ScanArgs(t, "controller", &node, &p.Controller.Epoch)
			p.Controller.ID = kafka.BrokerID(node)
		case "fault":
			d.ScanArgs(t, "fault", &node, &fault)
			p.Faults = append([]harness.ActiveFault(nil), p.Faults...)
			p.Faults = append(p.Faults, harness.ActiveFault{Node: kafka.BrokerID(node), Fault: workloads.Fault(fault), Since: s.now})
		case "healed":
			p.Faults = nil
		case "headline":
			h := &p.Headline
			d.ScanArgs(t, "headline", &h.Metric, &h.N, &p50, &p99, &h.Max)
			h.Unit, h.P50, h.P99 = results.Nanoseconds, p50, math.NaN()
			if p99 > 0 {
				h.P99 = p99
			}
		case "trial":
			trial := workloads.Trial{Workload: p.Work.Workload, N: p.Work.Trial, Valid: true}
			d.ScanArgs(t, "trial", &trial.Valid)
			trial.Reason = "the generator\nslipped"
			p.Trial = &trial
			if trial.Valid {
				p.Valid++
			} else {
				p.Invalid++
			}
		}
	}
	s.board.Update(*p)
}

func (s *story) shown() string {
	if s.plain != nil {
		defer s.plain.Reset()
		return s.plain.String()
	}
	s.term.sane()
	return s.term.screen()
}

// TestFrames tells stories of runs and compares what the terminal shows; see
// -rewrite.
func TestFrames(t *testing.T) {
	datadriven.Walk(t, "testdata/frames", func(t *testing.T, path string) {
		var s *story
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				s = newStory(t, d)
			case "update":
				s.update(t, d)
			case "say":
				s.board.Line(d.Input)
			case "wait":
				after, err := time.ParseDuration(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}
				s.now = s.now.Add(after)
			case "resize":
				var columns, rows int
				d.ScanArgs(t, "to", &columns, &rows)
				s.term.resize(columns, rows)
			case "colour":
				s.view.terminal.Colour = true
				columns, rows := s.term.Size()
				return fmt.Sprintf("%q", frame(s.board.Snapshot(), columns, rows, true))
			case "close":
				s.view.print(s.view.flush(), nil)
				return s.shown()
			case "scrollback":
				return s.term.all()
			default:
				t.Fatalf("%s: no command", d.Cmd)
			}
			if d.HasArg("quiet") {
				return ""
			}
			s.view.draw()
			return s.shown()
		})
	})
}

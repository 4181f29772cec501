package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"kbench/results"
)

// Operations is what became of the operations of one generator of a workload in a
// cell: of all trials, invalid ones too. What the run does not tell is null.
type Operations struct {
	Cell      string `json:"cell"`
	Workload  string `json:"workload"`
	Stream    string `json:"stream"`    // change, or its kind; probe, produce, admin, seek, batch
	Sent      int64  `json:"sent"`      // in folders of older versions the dropped ones too
	Acked     *int64 `json:"acked"`     // acknowledged: answered without an error
	Failed    *int64 `json:"failed"`    // refused, or without an answer in time
	Open      *int64 `json:"open"`      // without an answer when the load ended
	Lost      *int64 `json:"lost"`      // acknowledged, and not served by every broker in time
	Late      *int64 `json:"late"`      // sent too long after they were due
	Dropped   *int64 `json:"dropped"`   // due and not sent: too many were under way
	P99SlipNs *int64 `json:"p99SlipNs"` // how late 99 of 100 were sent at most, in the trial where that was most
	MaxSlipNs *int64 `json:"maxSlipNs"` // how late the last of all was sent
}

// operationsDoc says what the columns of a table of operations mean.
const operationsDoc = "What the generators sent, all trials together. Acknowledged: answered without an error. Failed: refused, or without an answer in time. " +
	"Open: without an answer when the load ended. Lost: acknowledged, and not served by every broker in time. Late: sent more than 100 ms after it was due. " +
	"Dropped: due and not sent, since too many were under way. Slip: how late operations were sent, the 99th percentile of the trial where that was most, and the most of all."

// operationsHead is the head of such a table, and operationsLead how many of its
// columns are words.
var operationsHead = []string{"workload", "stream", "sent", "acknowledged", "failed", "open", "lost", "late", "dropped", "p99 slip", "max slip"}

const operationsLead = 4

// row gives the columns of operationsHead; a dash is what the run does not tell.
func (o *Operations) row() []string {
	number := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return strconv.FormatInt(*n, 10)
	}
	slip := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return duration(float64(*n))
	}
	return []string{
		o.Workload, o.Stream, strconv.FormatInt(o.Sent, 10), number(o.Acked), number(o.Failed), number(o.Open), number(o.Lost),
		number(o.Late), number(o.Dropped), slip(o.P99SlipNs), slip(o.MaxSlipNs),
	}
}

// amiss reports whether an operation was not what it should have been.
func (o *Operations) amiss() bool {
	for _, n := range []*int64{o.Failed, o.Open, o.Lost, o.Late, o.Dropped} {
		if n != nil && *n > 0 {
			return true
		}
	}
	return false
}

type streamKey struct{ cell, workload, stream string }

// takeOperations adds up what a trial counted.
func (s *story) takeOperations(e results.Event) {
	for _, name := range slices.Sorted(maps.Keys(e.Data)) {
		stream, ok := strings.CutSuffix(name, ".sent")
		if !ok || stream == "changes" { // see outcomes
			continue
		}
		key := streamKey{e.Cell, e.Workload, stream}
		o := s.operations[key]
		if o == nil {
			o = &Operations{Cell: e.Cell, Workload: e.Workload, Stream: stream}
			s.operations[key] = o
			s.ops = append(s.ops, o)
		}
		o.Sent += int64(number(e.Data[name]))
		add(&o.Late, e.Data[stream+".late"])
		add(&o.Dropped, e.Data[stream+".dropped"])
		most(&o.P99SlipNs, e.Data[stream+".p99SlipNs"])
		most(&o.MaxSlipNs, e.Data[stream+".maxSlipNs"])
		for _, told := range outcomes(stream) {
			add(&o.Acked, e.Data[told+".acked"])
			add(&o.Failed, e.Data[told+".failed"])
			add(&o.Open, e.Data[told+".open"])
			add(&o.Lost, e.Data[told+".lost"])
		}
	}
}

// outcomes gives the names under which it is told what became of a stream. Folders
// of before told it of changes under another one, and counted the records of what
// was sent by requests.
func outcomes(stream string) []string {
	switch stream {
	case "change":
		return []string{stream, "changes"}
	case "records":
		return nil
	}
	return []string{stream}
}

// add adds a count, where there is one.
func add(to **int64, v any) {
	if n, ok := v.(float64); ok {
		if *to == nil {
			*to = new(int64)
		}
		**to += int64(n)
	}
}

// most keeps the greatest count.
func most(to **int64, v any) {
	if n, ok := v.(float64); ok && (*to == nil || **to < int64(n)) {
		*to = new(int64)
		**to = int64(n)
	}
}

// operationsTable is a table of some operations.
func (rep *Report) operationsTable(ops []Operations, st tableStyle) table.Writer {
	t := newTable()
	head := table.Row{"side", rep.pointHeader()}
	configs := make([]table.ColumnConfig, 0, len(operationsHead))
	for i, name := range operationsHead {
		head = append(head, name)
		if n := i + 2; n >= operationsLead {
			configs = append(configs, table.ColumnConfig{Number: n + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for i := range ops {
		row := table.Row{st.text(rep.side(ops[i].Cell)), st.text(rep.point(ops[i].Cell))}
		for _, cell := range ops[i].row() {
			row = append(row, st.text(cell))
		}
		t.AppendRow(row)
	}
	return t
}

// operationsText is the table of the streams of which something failed, was open,
// lost, late or dropped, if there is one, and how many others there are.
func (rep *Report) operationsText() string {
	if len(rep.Operations) == 0 {
		return ""
	}
	var amiss []Operations
	var sent int64
	for _, o := range rep.Operations {
		if o.amiss() {
			amiss = append(amiss, o)
		} else {
			sent += o.Sent
		}
	}
	well := ""
	if n := len(rep.Operations) - len(amiss); n > 0 {
		well = fmt.Sprintf("operations: of %s that sent %d nothing failed, was open, lost, late or dropped\n", plural(n, "stream", "streams"), sent)
	}
	if len(amiss) == 0 {
		return well + "\n"
	}
	return "operations (" + operationsDoc + ")\n" + rep.operationsTable(amiss, textStyle()).Render() + "\n" + well + "\n"
}

// OperationsCSV is what became of the operations of each generator, one a row, as
// CSV writes. What the run does not tell is empty; slips are in ns.
func (rep *Report) OperationsCSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	rows := [][]string{{"cell", "side", "point", "workload", "how", "stream", "sent", "acknowledged", "failed", "open", "lost", "late", "dropped", "p99_slip_ns", "max_slip_ns"}}
	guard := func(s string) string { return results.GuardFormula(results.OneLine(s)) }
	for i := range rep.Operations {
		o := &rep.Operations[i]
		row := []string{guard(o.Cell), guard(rep.side(o.Cell)), guard(rep.point(o.Cell)), guard(o.Workload), guard(rep.How[o.Workload]), guard(o.Stream), strconv.FormatInt(o.Sent, 10)}
		for _, n := range []*int64{o.Acked, o.Failed, o.Open, o.Lost, o.Late, o.Dropped, o.P99SlipNs, o.MaxSlipNs} {
			text := ""
			if n != nil {
				text = strconv.FormatInt(*n, 10)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("make the CSV: %w", err)
	}
	return b.Bytes(), nil
}

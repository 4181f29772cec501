package report

import (
	"strings"
	"testing"
	"time"

	"kbench/results"
)

// trialRun writes a run of one cell whose trials counted what is given, and gives
// its report.
func trialRun(t *testing.T, workload string, trials ...map[string]any) *Report {
	t.Helper()
	w, err := results.Create(t.TempDir(), "counts", started)
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range trials {
		e := results.Event{MonoNs: int64(i+1) * 1e9, Wall: started, Cell: "zk.base", Repeat: i + 1, Workload: workload, Trial: 1, Kind: "trial", Data: data}
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	path, err := w.Commit(results.Manifest{Name: "counts", Started: started, Ended: started.Add(time.Minute), Cells: []results.Cell{
		{ID: "zk.base", Target: "zk", Variant: "base", Partitions: 1000, Verdict: results.Valid},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return mustReport(t, mustOpen(t, path))
}

// wordsOf gives every form of a report that has words.
func wordsOf(t *testing.T, rep *Report) map[string]string {
	t.Helper()
	html, err := rep.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"text": rep.Text(), "Markdown": rep.Markdown(), "HTML": string(html)}
}

// What a load lost stands in every form, in the same words.
func TestOperationsInEveryForm(t *testing.T) {
	rep := trialRun(t, "mixed",
		map[string]any{
			"valid": true, "change.sent": 90, "change.late": 4, "change.dropped": 10, "change.p99SlipNs": 2e6, "change.maxSlipNs": 110e6, "change.acked": 80, "change.failed": 7, "change.lost": 3,
			"create.sent": 40, "create.late": 1, "create.dropped": 4, "create.p99SlipNs": 1e6, "create.maxSlipNs": 3e6, "create.acked": 38, "create.failed": 2, "create.lost": 0,
			"create.probe.sent": 500, "create.probe.late": 0, "create.probe.dropped": 0, "create.probe.p99SlipNs": 1e5, "create.probe.maxSlipNs": 2e5,
		},
		map[string]any{"valid": false, "reason": "r", "change.sent": 10, "change.late": 0, "change.dropped": 0, "change.p99SlipNs": 3e6, "change.maxSlipNs": 4e6, "change.acked": 10, "change.failed": 0, "change.lost": 0},
	)
	for form, said := range wordsOf(t, rep) {
		for _, want := range append([]string{operationsDoc}, operationsHead...) {
			if !strings.Contains(said, want) {
				t.Errorf("%s lacks %q", form, want)
			}
		}
		plain := strings.Join(strings.FieldsFunc(said, func(r rune) bool { return strings.ContainsRune(" |\n", r) }), " ")
		if form == "HTML" {
			continue // its cells are elements
		}
		for _, want := range []string{
			"zk 1k mixed change 100 90 7 - 3 4 10 3.00 ms 110 ms",
			"zk 1k mixed create 40 38 2 - 0 1 4 1.00 ms 3.00 ms",
		} {
			if !strings.Contains(plain, want) {
				t.Errorf("%s lacks %q:\n%s", form, want, said)
			}
		}
	}
	if text := rep.Text(); strings.Contains(text, "create.probe") || !strings.Contains(text, "of 1 stream that sent 500 nothing failed, was open, lost, late or dropped") {
		t.Errorf("the text lists what is as it should be:\n%s", text)
	}
	b, err := rep.OperationsCSV()
	if err != nil || !strings.Contains(string(b), "zk.base,zk,1k,mixed,,change,100,90,7,,3,4,10,3000000,110000000\r\n") {
		t.Errorf("%v\n%s", err, b)
	}
	checkAgainstSchema(t, mustJSON(t, rep))
}

// Folders of before told of changes under another name than their generator's, of
// kinds without their generator, and of records where requests were sent.
func TestOperationsOfOlderFolders(t *testing.T) {
	rep := trialRun(t, "data-interference", map[string]any{
		"valid": true, "change.sent": 50, "change.late": 0, "change.dropped": 0, "change.maxSlipNs": 4e6,
		"changes.sent": 50, "changes.served": 47, "changes.failed": 2, "changes.lost": 1,
		"create.sent": 20, "create.served": 20, "create.failed": 0, "create.lost": 0,
		"records.sent": 100, "records.late": 0, "records.dropped": 0, "records.maxSlipNs": 1e6, "records.acked": 1000, "records.failed": 0,
	})
	var got []string
	for _, o := range rep.Operations {
		got = append(got, strings.Join(o.row()[1:], " "))
	}
	want := "change 50 - 2 - 1 0 0 - 4.00 ms; create 20 - 0 - 0 - - - -; records 100 - - - - 0 0 - 1.00 ms"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	checkAgainstSchema(t, mustJSON(t, rep))
}

// How many of the probed partitions had an outage is said, also where none had and
// no figure is there; what is not valid does not count.
func TestOutages(t *testing.T) {
	counts := func(valid bool, had, open int) map[string]any {
		return map[string]any{"valid": valid, "partitions.probed": 64, "outages": had, "outages.open": open}
	}
	for name, c := range map[string]struct {
		trials []map[string]any
		want   string
	}{
		"some":         {[]map[string]any{counts(true, 40, 0), counts(true, 2, 1), counts(false, 64, 0)}, "rolling-restart: zk 1k: 42 of 128, the end of 1 not seen"},
		"none":         {[]map[string]any{counts(true, 0, 0)}, "rolling-restart: zk 1k: 0 of 64"},
		"never looked": {[]map[string]any{{"valid": true}}, ""},
	} {
		for form, said := range wordsOf(t, trialRun(t, "rolling-restart", c.trials...)) {
			if strings.Contains(strings.ToLower(said), strings.ToLower(outagesTitle)) != (c.want != "") || !strings.Contains(said, c.want) {
				t.Errorf("%s: %s lacks %q", name, form, c.want)
			}
		}
	}
}

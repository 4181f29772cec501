package export

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"kbench/results/history"
)

var at = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)

const odd = "=a/b \"<b>\" ü\n\\"

func testSeries() []history.Series {
	key := history.SeriesKey{Cell: "zk.base", Workload: "controller-failover", Metric: "recovery.controller", Phase: "first-admin", Comparable: "c1"}
	one := history.Series{SeriesKey: key, Target: "zk", Variant: "base", Partitions: 1000, Unit: "ns"}
	two := one
	two.Comparable = "c2"
	rate := history.Series{SeriesKey: history.SeriesKey{Cell: odd, Workload: "create-topics", Metric: "creation", Phase: "rate", Comparable: "c3"}, Target: odd, Unit: "1/s"}
	for i := range 4 {
		r := history.Reading{Run: "run-" + string(rune('a'+i)), At: at.AddDate(0, 0, i), Commit: odd, Median: 1.5e9 + float64(i), N: 10}
		if i == 1 {
			r.Why = "invalid"
		}
		one.Readings = append(one.Readings, r)
		if i > 0 {
			r.Why = ""
			two.Readings = append(two.Readings, r)
		}
		if i == 3 {
			r.N, r.Median = 0, 0
		}
		r.Median /= 1e6
		rate.Readings = append(rate.Readings, r)
	}
	return []history.Series{one, two, rate}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	n, left, err := CSV(&b, testSeries()[:2])
	if err != nil || left != 2 || n != 2 {
		t.Fatalf("left out %d, %v", left, err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	if got := strings.Join(rows[0], "|"); got != "time|commit|run|zk.base.recovery.controller.first-admin|zk.base.recovery.controller.first-admin@c2" {
		t.Errorf("header %s", got)
	}
	if r := rows[1]; r[0] != "2026-03-03T02:00:00Z" || r[1] != "'"+odd || r[2] != "run-c" || r[3] != "1500000002" || r[4] != "1500000002" {
		t.Errorf("row %q", r)
	}
	if rows, left, err := CSV(&b, nil); err != nil || left != 0 || rows != 0 {
		t.Errorf("no series: %d, %v", left, err)
	}
}

// TestPrometheus lets Prometheus' own parser read what is written.
func TestPrometheus(t *testing.T) {
	var b bytes.Buffer
	if err := Prometheus(&b, testSeries()); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&b)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	want := map[string]int{
		"kbench_night_median_seconds": 2, "kbench_night_samples": 3, "kbench_night_valid": 3, "kbench_night_start_time_seconds": 3,
	}
	if len(families) != len(want) { // the rate's last night has no value
		t.Errorf("%d families in\n%s", len(families), text)
	}
	for name, n := range want {
		if f := families[name]; f == nil || len(f.GetMetric()) != n || f.GetHelp() == "" {
			t.Errorf("%s: %v", name, f)
		}
	}
	if v := families["kbench_night_median_seconds"].GetMetric()[0].GetGauge().GetValue(); v != 1.500000003 {
		t.Errorf("median %v", v)
	}
	found := false
	for _, l := range families["kbench_night_valid"].GetMetric()[2].GetLabel() {
		found = found || l.GetName() == "cell" && l.GetValue() == odd
	}
	if !found {
		t.Errorf("the odd name did not come back from\n%s", text)
	}
}

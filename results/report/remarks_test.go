package report

import (
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/simulated"
)

// TestNothingValid: invalid trials are counted once each, those too whose
// values would stand in histograms and left no sample, and their metric is
// shown as one of which nothing came.
func TestNothingValid(t *testing.T) {
	truth := simulated.Truth{
		Targets: []string{"zk", "kraft"}, Partitions: []int{1000}, Trials: 10,
		Metrics: []string{"controlled-shutdown.granted", "controlled-shutdown.moved", "recovery.controller.first-admin", "propagation.last"},
		Value:   func(simulated.Point) float64 { return 1e8 },
		Invalid: func(simulated.Point) string { return "the generator slipped" },
	}
	r, err := simulated.Write(t.TempDir(), truth)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	text := rep.Text()
	for _, want := range []string{"60 invalid trials are not in the figures", "propagation (", "0 (10 invalid)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if n := len(rep.Excluded); n != 60 {
		t.Errorf("%d trials are excluded, want 60", n)
	}
}

// TestBusyMachine: a run that began on a busy machine says so in every form.
func TestBusyMachine(t *testing.T) {
	for load, told := range map[float64]bool{28: true, 0.5: false} {
		r, err := simulated.New(simulated.Truth{
			Targets: []string{"zk"}, Partitions: []int{1000}, Trials: 3, Metrics: []string{"controlled-shutdown.moved"},
			Value: func(simulated.Point) float64 { return 1e8 },
			Edit:  func(m *results.Manifest) { m.Observed.Load1 = load },
		})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := New(r)
		if err != nil {
			t.Fatal(err)
		}
		html, err := rep.HTML()
		if err != nil {
			t.Fatal(err)
		}
		const want = "the machine was busy when the run began: load 28.0 on 8 cores"
		for form, text := range map[string]string{"text": rep.Text(), "Markdown": rep.Markdown(), "HTML": string(html)} {
			if strings.Contains(text, want) != told {
				t.Errorf("load %v: %s says that the machine was busy: %v", load, form, !told)
			}
		}
	}
}

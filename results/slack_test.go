package results

import (
	"strings"
	"testing"
)

func TestRelativeThresholds(t *testing.T) {
	const ms = 1e6
	for _, c := range []struct {
		text           string
		baseline, edge float64 // edge is the first value that misses
		better         float64
	}{
		{"controlled-shutdown.median < baseline + 10%", 100 * ms, 110 * ms, 109 * ms},
		{"controlled-shutdown.median < baseline + 20ms", 100 * ms, 120 * ms, 119 * ms},
		// Worse by more than both: the larger one decides.
		{"controlled-shutdown.median < baseline + max(10%, 20ms)", 100 * ms, 120 * ms, 119 * ms},
		{"controlled-shutdown.median < baseline + max(20ms,10 %)", 1000 * ms, 1100 * ms, 1099 * ms},
		{"creation.rate.median > baseline - max(10%, 50/s)", 1000, 900, 901},
		{"creation.rate.median >= baseline - 50/s", 100, 49.9, 50},
	} {
		th, err := ParseThreshold(c.text)
		if err != nil || !th.Relative() {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		at := th.At(c.baseline)
		if at.Relative() || at.Holds(c.edge) || !at.Holds(c.better) {
			t.Errorf("%s at baseline %v: bound %v", c.text, c.baseline, at.Value)
		}
	}
}

func TestRelativeThresholdFaults(t *testing.T) {
	for text, want := range map[string]string{
		"creation.rate.median > baseline":                                  "missed by every second run",
		"creation.rate.median > baseline + 10%":                            "write > baseline - max(10%, 50/s)",
		"controlled-shutdown.median < baseline - 10%":                      "write < baseline + max(10%, 20ms)",
		"controlled-shutdown.median < baseline +":                          "does not follow",
		"controlled-shutdown.median < baseline + 10":                       "has no unit",
		"controlled-shutdown.median < baseline + max(10%)":                 "no share and amount",
		"controlled-shutdown.median < baseline + max(10%, 20ms":            "no share and amount",
		"controlled-shutdown.median < baseline + max(10%, 5%)":             "two shares",
		"controlled-shutdown.median < baseline + max(1ms, 2ms)":            "a second amount",
		"controlled-shutdown.median < baseline + 0%":                       "not over 0%",
		"controlled-shutdown.median < baseline + NaN%":                     "not over 0%",
		"controlled-shutdown.median < baseline + 10% + 20ms":               "is not a duration",
		"controlled-shutdown.n > baseline - 10%":                           "n has no baseline",
		"controlled-shutdown.median < baseline + max(10%, 20ms, 5%, 10ms)": "no share and amount",
	} {
		if _, err := ParseThreshold(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A run knows no baseline: what is relative is left to the gate.
func TestRunsLeaveRelativeThresholds(t *testing.T) {
	cells := []Cell{{ID: "zk.base", Target: "zk"}}
	bounds, _, err := parseBounds([]string{"controlled-shutdown.median < baseline + 10%", "controlled-shutdown.median < 1s"})
	if err != nil {
		t.Fatal(err)
	}
	if out := evaluate(bounds, cells, nil); len(out) != 1 || out[0].Threshold != "controlled-shutdown.median < 1s" {
		t.Errorf("%v", out)
	}
}

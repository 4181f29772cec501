package results

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDistributionJSON(t *testing.T) {
	r := NewRecorder(1)
	for _, v := range []time.Duration{3, time.Millisecond + 7, time.Second, 2 * time.Hour} {
		r.Shard(0).Record(v)
	}
	for name, d := range map[string]*Distribution{"empty": NewDistribution(), "out of range": r.Merged()} {
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back Distribution
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&back)
		if err != nil || string(again) != string(b) || back.Count() != d.Count() || back.min != d.min || back.max != d.max {
			t.Errorf("%s came back as %s, was %s, %v", name, again, b, err)
		}
	}
	for text, want := range map[string]string{
		`{"v2":"","min":0,"max":0}`:                   "decode a histogram",
		`{"v2":"!!!!","min":0,"max":0}`:               "decode a histogram",
		`{"v2":"` + "HISTFAAA" + `","min":0,"max":0}`: "decode a histogram",
	} {
		var d Distribution
		if err := json.Unmarshal([]byte(text), &d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

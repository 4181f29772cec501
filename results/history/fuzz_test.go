package history

import (
	"encoding/json"
	"strings"
	"testing"

	"kbench/results/simulated"
)

// FuzzDecode: whatever stands in the file, reading ends with nights or an error
// that names the line, and what was read is written and read again the same.
func FuzzDecode(f *testing.F) {
	tr := truth(0)
	tr.Targets, tr.PerTrial = tr.Targets[:1], 2 // a short line leaves the fuzzer more tries
	r, err := simulated.New(tr)
	if err != nil {
		f.Fatal(err)
	}
	n, err := FromRun(r)
	if err != nil {
		f.Fatal(err)
	}
	b, err := json.Marshal(n)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(b) + "\n", string(b), "<<<<<<< HEAD\n", `{"at":"`, "{}\n", "\x00\x00", `{"kbenchHistory":1,"kind":"accept","run":"a","runAt":"2026-01-01T00:00:00Z"}` + "\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := decode("h", src)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "h:") {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		l := got.log("h")
		l.Series()
		for _, n := range l.Nights {
			b, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			again, err := decode("h", append(b, '\n'))
			if err != nil || len(again.lines) != 1 || again.lines[0].night.identity() != n.identity() {
				t.Errorf("%s came back as %+v, %v", b, again.lines, err)
			}
		}
	})
}

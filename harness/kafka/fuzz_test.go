package kafka

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kbench/internal/fuzzing"
	"kbench/internal/trace"
)

// FuzzParse: no text makes it panic or take memory beyond its size, and what is
// accepted reads again as it is written.
func FuzzParse(f *testing.F) {
	f.Add("num.io.threads=4; log.dir=/d; ;x")
	f.Add("a=b=c;a=1; broker.id = 7")
	f.Fuzz(func(t *testing.T, text string) {
		var p Properties
		var err error
		fuzzing.Within(t, len(text), 512, func() { p, err = Parse(text) })
		if err != nil {
			return
		}
		if again, err := Parse(p.String()); err != nil || !slices.Equal(p, again) {
			t.Fatalf("%q came back as %q, %v", p, again, err)
		}
	})
}

// FuzzWriteTrace: whatever a real node logs, what it tells is a trace that reads,
// in memory bounded by the log.
func FuzzWriteTrace(f *testing.F) {
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil || len(logs) == 0 {
		f.Fatal(logs, err)
	}
	for _, name := range logs {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("broker-2", b)
	}
	f.Fuzz(func(t *testing.T, node string, log []byte) {
		var told bytes.Buffer
		fuzzing.Within(t, len(node)+len(log), 512, func() {
			if err := WriteTrace(&told, node, bytes.NewReader(log), 0); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := trace.Read(&told); err != nil {
			t.Fatal(err)
		}
	})
}

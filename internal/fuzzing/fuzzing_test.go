package fuzzing

import (
	"bytes"
	"fmt"
	"testing"

	"kbench/kraftcontroller/metalog"
)

// failure is a test that notes how it fails.
type failure struct {
	testing.TB
	text string
}

func (*failure) Helper() {}

func (f *failure) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

var kept []byte

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		takes, input int
		fails        bool
	}{{8 << 20, 100, true}, {1000, 100, false}, {8 << 20, 1 << 20, false}} {
		f := &failure{TB: t}
		Within(f, c.input, 10, func() { kept = make([]byte, c.takes) })
		if (f.text != "") != c.fails {
			t.Errorf("%d bytes for %d: %q", c.takes, c.input, f.text)
		}
	}
}

// Batches whose records were changed read again; what is no batch stays.
func TestMended(t *testing.T) {
	var raw []byte
	for range 2 {
		b := metalog.Batch{Records: []metalog.Record{{Value: []byte("ab")}}}
		var err error
		if raw, err = b.Append(raw); err != nil {
			t.Fatal(err)
		}
	}
	size := len(raw)
	raw[size/2-2], raw[size-2] = 'c', 'd' // the values' last bytes
	raw = append(raw, "what is no batch has no checksum"...)
	if _, err := metalog.ReadBatches(raw[:size]); err == nil {
		t.Fatal("the checksums are good without being mended")
	}
	got := Mended(raw)
	batches, err := metalog.ReadBatches(got[:size])
	if err != nil || string(batches[0].Records[0].Value) != "ac" || string(batches[1].Records[0].Value) != "ad" {
		t.Errorf("%+v, %v", batches, err)
	}
	if !bytes.Equal(got[size:], raw[size:]) {
		t.Errorf("what follows became %q", got[size:])
	}
}

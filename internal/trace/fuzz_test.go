package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"kbench/internal/fuzzing"
)

// FuzzRead: whatever stands in a trace, reading ends with events or an error, in
// memory bounded by the file, and the events read again as they are written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"t":1,"node":"a","kind":"broker.applied","n":3}` + "\n" + `{"t":2,"node":"a","kind":"quorum.follows","epoch":4,"broker":1,"offset":9,"detail":"d","messages":1,"bytes":2,"roundTrips":3}` + "\n"))
	f.Add([]byte(`{"t":1,"node":"a","kind":"disk.fault"}` + "\n" + `{"t":2,"no`))
	f.Add([]byte("\n\nnull\n{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var events []Event
		var err error
		fuzzing.Within(t, len(b), 512, func() { events, err = Read(bytes.NewReader(b)) })
		if err != nil {
			return
		}
		var again bytes.Buffer
		enc := json.NewEncoder(&again)
		for _, e := range events {
			if err := enc.Encode(e); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Read(&again); err != nil || !slices.Equal(got, events) {
			t.Fatalf("%+v came back as %+v, %v", events, got, err)
		}
	})
}

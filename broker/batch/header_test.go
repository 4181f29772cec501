package batch

import (
	"errors"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/fuzzing"
	"kbench/kafka"
)

// produced makes a batch of n records as a client does, with kmsg's encoder.
func produced(t testing.TB, n int32, pid int64, epoch int16, seq int32) []byte {
	t.Helper()
	h := Header{Count: n, ProducerID: pid, ProducerEpoch: epoch, BaseSequence: seq}
	b := AppendEmpty(nil, h)
	rb := kmsg.NewRecordBatch()
	if err := rb.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	rb.NumRecords = n
	for range n {
		rb.Records = append(rb.Records, 12, 0, 0, 0, 1, 1, 0) // an empty record of 6 bytes
	}
	rb.Length = int32(HeaderBytes - afterLength + len(rb.Records))
	return seal(rb.AppendTo(nil))
}

func TestReadProduced(t *testing.T) {
	b := produced(t, 3, 77, 2, 10)
	h, err := ReadProduced(b)
	if err != nil {
		t.Fatal(err)
	}
	if h.Count != 3 || h.Records != 3 || h.ProducerID != 77 || h.ProducerEpoch != 2 || h.BaseSequence != 10 || h.LastSequence() != 12 || h.SizeBytes != len(b) {
		t.Fatalf("got %+v", h)
	}
}

func TestReadRefuses(t *testing.T) {
	good := produced(t, 1, NoProducer, -1, -1)
	edit := func(f func([]byte) []byte) []byte { return f(append([]byte{}, good...)) }
	for name, c := range map[string]struct {
		b    []byte
		code kafka.ErrorCode
	}{
		"nothing":                   {nil, kafka.CorruptMessage},
		"half a header":             {good[:40], kafka.CorruptMessage},
		"cut short":                 {good[:len(good)-1], kafka.CorruptMessage},
		"magic 1":                   {edit(func(b []byte) []byte { b[atMagic] = 1; return b }), kafka.UnsupportedVersion},
		"flipped bit":               {edit(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), kafka.CorruptMessage},
		"length -1":                 {edit(func(b []byte) []byte { b[atLength] = 0xff; return b }), kafka.CorruptMessage},
		"two batches":               {append(edit(func(b []byte) []byte { return b }), good...), kafka.InvalidRecord},
		"no records":                {AppendEmpty(nil, Header{Count: 1, ProducerID: NoProducer}), kafka.InvalidRecord},
		"control":                   {seal(edit(func(b []byte) []byte { b[atAttributes+1] |= controlBit; return b })), kafka.InvalidRecord},
		"bad sequence":              {produced(t, 1, 5, 0, -1), kafka.InvalidRecord},
		"more records than offsets": {seal(edit(func(b []byte) []byte { b[atRecords+3] = 9; return b })), kafka.CorruptMessage},
	} {
		_, err := ReadProduced(c.b)
		var code kafka.ErrorCode
		if !errors.As(err, &code) || code != c.code {
			t.Errorf("%s: got %v, want %v", name, err, c.code)
		}
	}
}

func TestSequenceWraps(t *testing.T) {
	h := Header{BaseSequence: math.MaxInt32 - 1, Count: 3}
	if got := h.LastSequence(); got != 0 {
		t.Fatalf("last sequence = %d, want 0", got)
	}
}

// A span longer than one batch can hold is several, and they continue.
func TestAppendSpan(t *testing.T) {
	end := kafka.Offset(3) * math.MaxInt32
	b := AppendSpan(nil, 5, end, 4)
	at := kafka.Offset(5)
	for len(b) > 0 {
		h, rest, err := Read(b)
		if err != nil || h.BaseOffset != at || h.Records != 0 || h.LeaderEpoch != 4 {
			t.Fatalf("batch at %d: %+v, %v", at, h, err)
		}
		at, b = h.Next(), rest
	}
	if at != end {
		t.Fatalf("span ends at %d, want %d", at, end)
	}
}

// Whatever bytes come, Read ends without a panic, and what it accepts
// describes bytes that are there.
func FuzzRead(f *testing.F) {
	f.Add(produced(f, 2, 9, 1, 3))
	f.Add(AppendEmpty(nil, Header{Count: 7, ProducerID: NoProducer}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Header
		var rest []byte
		var err error
		b = fuzzing.Mended(b)
		fuzzing.Within(t, len(b), 16, func() { h, rest, err = Read(b) })
		if err != nil {
			return
		}
		if h.SizeBytes+len(rest) != len(b) || h.Count < 1 || h.Records > h.Count {
			t.Fatalf("%+v with %d bytes left of %d", h, len(rest), len(b))
		}
	})
}

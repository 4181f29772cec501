package fuzzing

import (
	"runtime/metrics"
	"testing"
)

// slackBytes is what a decoder may take whatever its input is. The counter is
// exact to the spans that are handed out: each processor holds one of every size,
// and what an earlier call took of it may be counted now.
const slackBytes = 4 << 20

// Within fails where decode allocates more than factor bytes for each byte of
// its input, freed or not, and 4 MiB.
func Within(t testing.TB, inputBytes, factor int, decode func()) {
	t.Helper()
	before := allocatedBytes()
	decode()
	if got := allocatedBytes() - before; got > uint64(inputBytes)*uint64(factor)+slackBytes {
		t.Fatalf("%d bytes were allocated for an input of %d", got, inputBytes)
	}
}

func allocatedBytes() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

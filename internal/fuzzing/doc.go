// Package fuzzing is what the fuzz targets of several packages share: the bound
// on the memory that a decoder may take, and checksums that are put right and
// texts that are compressed, so that a fuzzer gets behind both.
//
// It must not know what is decoded. Tests call it, on the goroutine of a fuzz
// target.
//
//	f.Fuzz(func(t *testing.T, raw []byte) {
//		raw = fuzzing.Mended(raw)
//		var b metalog.Batch
//		var err error
//		fuzzing.Within(t, len(raw), 64, func() { b, _, err = metalog.ReadBatch(raw) })
//		...
//	})
//
// kafka and results know nobody but themselves; their targets count on their own.
package fuzzing

package fuzzing

import (
	"bytes"
	"compress/gzip"
	"testing"
)

// Zipped gives a function that compresses a text as files of run folders are
// compressed: few changes of a fuzzer would get behind that. It is for one
// goroutine.
func Zipped() func(t testing.TB, text []byte) []byte {
	zw := gzip.NewWriter(nil)
	return func(t testing.TB, text []byte) []byte {
		t.Helper()
		var file bytes.Buffer
		zw.Reset(&file)
		_, _ = zw.Write(text)
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
}

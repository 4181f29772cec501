package kafka

import (
	"strings"
	"testing"
)

func TestLiveBytes(t *testing.T) {
	const histogram = `4711:
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:         33841        3166112  [B (java.base@17.0.1)
   2:           345          99456  Total (app)
Total        282111       14722472
`
	if n, err := LiveBytes([]byte(histogram)); err != nil || n != 14_722_472 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := LiveBytes([]byte("4711:\njava.lang.OutOfMemoryError")); err == nil || !strings.Contains(err.Error(), "OutOfMemoryError") {
		t.Error(err)
	}
}

package node

import (
	"runtime"
	"testing"
)

// What nobody holds any more is not live, what somebody holds is.
func TestLiveHeap(t *testing.T) {
	const size = 64 << 20
	before := liveHeap()
	held := make([]byte, size)
	with := liveHeap()
	runtime.KeepAlive(held)
	held = nil
	after := liveHeap()
	if least := int64(size - size/8); with-before < least || with-after < least {
		t.Errorf("%d bytes before, %d with 64 MiB, %d after", before, with, after)
	}
}

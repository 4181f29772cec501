package workloads

import (
	"runtime"
	"runtime/metrics"
)

// countGenerator keeps what the generator itself takes while its probes still
// run. It is bounded whatever the cluster does: each broker has probeWindow
// probes under way and produceWindow produces at most, and each kind of load its
// own bound.
func (t *trialRun) countGenerator() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	t.count("generator.goroutines", int64(runtime.NumGoroutine()))
	t.count("generator.heapBytes", int64(heap[0].Value.Uint64()))
}

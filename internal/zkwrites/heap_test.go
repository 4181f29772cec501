package zkwrites

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"kbench/harness/zookeeper"
)

// BenchmarkControllerHeap tells what a dedicated controller keeps of each
// partition after a garbage collection: its own context, and the metadata that
// it receives as every broker does. The brokers that host the replicas are in
// this process too, so they stop before.
func BenchmarkControllerHeap(b *testing.B) {
	inst, err := zookeeper.Find()
	if err != nil {
		if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
			b.Fatal(err)
		}
		b.Skip("SKIPPED: what the controller keeps was not measured: ", err)
	}
	var kept int64
	for b.Loop() {
		kept += weigh(b, inst, partitions) - weigh(b, inst, 0)
	}
	b.ReportMetric(float64(kept)/float64(b.N*partitions), "B/partition")
}

// weigh gives the heap of a dedicated controller that has seen n partitions,
// and of all else in the process.
func weigh(b *testing.B, inst zookeeper.Installation, n int) int64 {
	b.Helper()
	e, err := zookeeper.Start(b.Context(), zookeeper.Config{Installation: inst, Dir: b.TempDir(), TickTime: 2 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	r := newRig(b, e.Servers()[0])
	r.create(b, n)
	r.stopBrokers(b)
	live := heap()
	runtime.KeepAlive(r)
	r.close(b)
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	return live
}

// heap is what is live.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

package node

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/metrics"
	"syscall"

	"kbench/internal/trace"
)

// obeyWeigh tells in the trace, at each SIGUSR2 until ctx ends, what is live on
// the heap.
func (p *process) obeyWeigh(ctx context.Context) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR2)
	go func() {
		defer signal.Stop(told)
		for {
			select {
			case <-told:
				p.trace.Emit(trace.Event{Kind: trace.HeapLive, N: liveHeap()})
			case <-ctx.Done():
				return
			}
		}
	}()
}

// liveHeap collects garbage and gives the bytes that it left. The first collection
// takes pooled objects to where the second one finds them.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

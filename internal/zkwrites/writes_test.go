// Package zkwrites measures what of a real ZooKeeper's writes reach the
// controller of ZooKeeper mode: it has tests alone.
package zkwrites

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"kbench/harness/zookeeper"
	"kbench/internal/zkserver/conformance"
	"kbench/internal/zkserver/proto"
)

const (
	// partitions is how many state znodes one event writes.
	partitions = 20_000
	// inFlight is zookeeper.max.in.flight.requests of both writers.
	inFlight = 10
)

// BenchmarkControllerWrites shuts a broker down in a cluster where it has a
// replica of every partition, so that the controller writes each state znode
// once, in a fenced multi of its own. Beside it stands a bare writer: one
// connection that does nothing but send such multis, with as many in flight,
// to the same ZooKeeper, before and after. The controller's writes are timed
// while it writes; the whole shutdown, in which it also reads every state and
// sends each broker its requests, stands beside them.
func BenchmarkControllerWrites(b *testing.B) {
	inst, err := zookeeper.Find()
	if err != nil {
		if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
			b.Fatal(err)
		}
		b.Skip("SKIPPED: what the controller writes was not measured: ", err)
	}
	var bare, controller, whole time.Duration
	writes := 0
	for b.Loop() {
		b.StopTimer()
		e, err := zookeeper.Start(b.Context(), zookeeper.Config{Installation: inst, Dir: b.TempDir(), TickTime: 2 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		r := newRig(b, e.Servers()[0])
		r.create(b, partitions)
		w := newBareWriter(b, e.Servers()[0], partitions)
		bare += w.round(b)
		r.tap.reset()
		b.StartTimer()
		began := time.Now()
		r.shutDown(b)
		whole += time.Since(began)
		b.StopTimer()
		n, took := r.tap.written()
		if n < partitions*9/10 {
			b.Fatalf("%d of %d writes were seen", n, partitions)
		}
		writes, controller = writes+n, controller+took
		bare += w.round(b)
		w.Close()
		r.close(b)
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	rate := func(writes int, took time.Duration) float64 { return float64(writes) / took.Seconds() }
	limit := rate(2*b.N*partitions, bare)
	b.ReportMetric(limit, "bare-writes/s")
	b.ReportMetric(rate(writes, controller), "controller-writes/s")
	b.ReportMetric(100*rate(writes, controller)/limit, "%-of-bare")
	b.ReportMetric(rate(b.N*partitions, whole), "states/s-of-shutdown")
}

// bareWriter sends fenced writes and does nothing else.
type bareWriter struct {
	*conformance.Raw
	paths   []string
	version int32
	fence   int32
}

// newBareWriter makes znodes of its own that look like those of partitions.
func newBareWriter(b *testing.B, addr string, n int) *bareWriter {
	w := &bareWriter{Raw: conformance.ConnectRaw(b, addr, 30*time.Second), paths: make([]string, n)}
	epoch := w.Do(b, proto.OpExists, conformance.PathWatch("/controller_epoch", false))
	if epoch.Code != proto.OK {
		b.Fatalf("look at the controller's epoch: %v", epoch.Code)
	}
	w.fence = conformance.ReadStat(epoch.Body).Version
	for i := range w.paths {
		w.paths[i] = fmt.Sprintf("/bare-topics-topic-%06d-partitions-%02d-state", i/100, i%100)
	}
	w.pipeline(b, func(i int, out []byte) []byte {
		out, _ = w.Append(out, proto.OpCreate, conformance.Create(w.paths[i], state, 0))
		return out
	})
	return w
}

var state = []byte(`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`)

// round writes every znode once.
func (w *bareWriter) round(b *testing.B) time.Duration {
	b.Helper()
	began := time.Now()
	w.pipeline(b, func(i int, out []byte) []byte {
		out, _ = w.Append(out, proto.OpMulti, conformance.Multi(
			conformance.Sub{Op: proto.OpCheck, Body: conformance.PathVersion("/controller_epoch", w.fence)},
			conformance.Sub{Op: proto.OpSetData, Body: conformance.SetData(w.paths[i], state, w.version)}))
		return out
	})
	w.version++
	return time.Since(began)
}

// pipeline sends a request for each znode, with inFlight of them outstanding.
func (w *bareWriter) pipeline(b *testing.B, request func(i int, out []byte) []byte) {
	b.Helper()
	sent := 0
	var out []byte
	for done := 0; done < len(w.paths); done++ {
		out = out[:0]
		for sent < len(w.paths) && sent-done < inFlight {
			out = request(sent, out)
			sent++
		}
		if len(out) > 0 {
			w.Write(b, out)
		}
		if m := w.Next(b); m.Code != proto.OK {
			b.Fatalf("write %d: %v", done, m.Code)
		}
	}
}

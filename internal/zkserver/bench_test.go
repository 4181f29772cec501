package zkserver_test

import (
	"fmt"
	"testing"
	"time"

	"kbench/internal/zkserver"
	"kbench/internal/zkserver/conformance"
	"kbench/internal/zkserver/proto"
)

// BenchmarkFencedMulti is Kafka's write: check /controller_epoch, set one
// partition's state; 10 or 1,000 in flight on one session.
func BenchmarkFencedMulti(b *testing.B) {
	for _, sync := range []bool{false, true} {
		for _, window := range []int{10, 1000} {
			b.Run(fmt.Sprintf("fsync=%v/inflight=%d", sync, window), func(b *testing.B) {
				s := start(b, zkserver.Config{NoSync: !sync, TickTime: 2 * time.Second})
				benchMulti(b, connect(b, s, 30*time.Second), window)
			})
		}
	}
}

const partitions = 1000

func benchMulti(b *testing.B, c *conformance.Raw, window int) {
	create(b, c, "/controller_epoch", 0)
	state := []byte(`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`)
	reqs := make([][]byte, partitions)
	for i := range reqs {
		path := fmt.Sprintf("/p%d", i)
		create(b, c, path, 0)
		reqs[i], _ = c.Append(nil, proto.OpMulti, conformance.Multi(
			conformance.Sub{Op: proto.OpCheck, Body: conformance.PathVersion("/controller_epoch", 0)},
			conformance.Sub{Op: proto.OpSetData, Body: conformance.SetData(path, state, -1)}))
	}
	b.ReportAllocs()
	tokens := make(chan struct{}, window)
	go func() {
		var out []byte
		for i := 0; i < b.N; i++ {
			select {
			case tokens <- struct{}{}:
			default:
				c.Write(b, out)
				out = out[:0]
				tokens <- struct{}{}
			}
			out = append(out, reqs[i%partitions]...)
		}
		c.Write(b, out)
	}()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if m := c.Next(b); m.Code != proto.OK {
			b.Fatal(m.Code)
		}
		<-tokens
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "multis/s")
}

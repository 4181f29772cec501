package batch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/cockroachdb/datadriven"

	"kbench/kafka"
)

// seal writes the CRC that a changed batch should have.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
	return b
}

// TestProducers runs stories of what producers send to one partition.
func TestProducers(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var p, follower Producers
		var end, replicated kafka.Offset
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "send":
				h := Header{BaseOffset: end, Count: 1}
				d.ScanArgs(t, "pid", &h.ProducerID)
				d.ScanArgs(t, "epoch", &h.ProducerEpoch)
				d.ScanArgs(t, "seq", &h.BaseSequence)
				d.MaybeScanArgs(t, "n", &h.Count)
				at, duplicate, code := p.Check(h)
				switch {
				case code != kafka.None:
					return code.String()
				case duplicate:
					return fmt.Sprintf("duplicate of offset %d", at)
				}
				p.Add(h)
				end = h.Next()
				return fmt.Sprintf("offsets %d..%d", h.BaseOffset, end-1)
			case "skip": // offsets of batches without a producer
				var n int64
				d.ScanArgs(t, "n", &n)
				end += kafka.Offset(n)
				return ""
			case "truncate":
				var to int64
				d.ScanArgs(t, "to", &to)
				end = kafka.Offset(to)
				p.Truncate(end)
				return ""
			case "replicate": // the leader's tail makes the follower's state
				out := ""
				for b := p.AppendTail(nil, replicated, end, 0); len(b) > 0; {
					h, rest, err := Read(b)
					if err != nil || h.BaseOffset != replicated {
						t.Fatalf("batch at %d: %+v, %v", replicated, h, err)
					}
					follower.Add(h)
					out += fmt.Sprintf("%d..%d pid=%d seq=%d\n", h.BaseOffset, h.Next()-1, h.ProducerID, h.BaseSequence)
					replicated, b = h.Next(), rest
				}
				return out
			case "failover":
				p = follower
				return ""
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// The producers of one partition are bounded: the most silent is forgotten.
func TestProducersBounded(t *testing.T) {
	var p Producers
	for id := range int64(10 * maxProducers) {
		p.Add(Header{ProducerID: id, Count: 1, BaseOffset: kafka.Offset(id)})
	}
	if len(p.byID) != maxProducers {
		t.Fatalf("%d producers remembered, want %d", len(p.byID), maxProducers)
	}
	if p.byID[0] != nil || p.byID[10*maxProducers-1] == nil {
		t.Fatal("forgot the wrong one")
	}
}

package zkcluster

import (
	"fmt"
	"strings"
	"time"

	"kbench/internal/sim/seeded"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// trace is what happened in a run: a running hash of all of it, and the text of
// it for those who ask.
type trace struct {
	seeded.Hash
	now *time.Duration
	log func(line string)
}

// note adds a line to the text only; what it tells is in the hash already.
func (t *trace) note(format string, a ...any) {
	if t.log != nil {
		t.log(fmt.Sprintf("%-13v %s", *t.now, fmt.Sprintf(format, a...)))
	}
}

// request adds a request as it reaches a broker.
func (t *trace) request(b *broker, s *sender, e machine.Effect, code kafka.ErrorCode) {
	t.Add(uint64(b.id), uint64(s.epoch), uint64(code))
	if t.log == nil {
		return
	}
	var what strings.Builder
	switch e := e.(type) {
	case *machine.LeaderAndISR:
		what.WriteString("LeaderAndIsr")
		for i := range e.Partitions {
			p := &e.Partitions[i]
			fmt.Fprintf(&what, " %s-%d leader %d epoch %d", p.Topic, p.Partition, p.State.Leader, p.State.LeaderEpoch)
		}
	case *machine.UpdateMetadata:
		fmt.Fprintf(&what, "UpdateMetadata, %d live", len(e.Live))
		for i := range e.Partitions {
			p := &e.Partitions[i]
			fmt.Fprintf(&what, " %s-%d leader %d epoch %d", p.Topic, p.Partition, p.State.Leader, p.State.LeaderEpoch)
		}
	case *machine.StopReplica:
		what.WriteString("StopReplica")
		for i := range e.Partitions {
			p := &e.Partitions[i]
			fmt.Fprintf(&what, " %s-%d epoch %d delete %v", p.Topic, p.Partition, p.LeaderEpoch, p.Delete)
		}
	}
	t.note("%d of epoch %d to broker %d: %s: %v", s.c.id, s.epoch, b.id, what.String(), code)
}

package zkcontroller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/zkcontroller/machine"
)

// encodeStopReplica lays out version 3 or 4. kmsg has the controller epoch of
// version 4 before the flag isKRaft, where Kafka has it after.
func (c *Controller) encodeStopReplica(e *machine.StopReplica, version int16) kmsg.Request {
	head := c.header(e.BrokerEpoch)
	if version < 4 {
		head = slices.Delete(head, 4, 5) // isKRaft
	}
	ps := e.Partitions
	topic := func(i int) string { return ps[i].Topic }
	b := make([]byte, 0, 32+len(ps)*16)
	b = appendLen(b, countTopics(len(ps), topic))
	byTopic(len(ps), topic, func(from, to int) {
		b = appendText(b, ps[from].Topic)
		b = appendLen(b, to-from)
		for i := from; i < to; i++ {
			b = appendInt32(b, ps[i].Partition)
			b = appendInt32(b, int32(ps[i].LeaderEpoch))
			b = append(appendBool(b, ps[i].Delete), 0)
		}
		b = append(b, 0)
	})
	return &encoded{&kmsg.StopReplicaRequest{Version: version}, [][]byte{head, append(b, 0)}}
}

package quorumlog

import (
	"slices"

	"kbench/internal/trace"
	"kbench/kafka"
)

// granted looks at the shutdowns that were granted when what was committed ended
// where the replay stands: the broker leads nothing then, and is fenced, so that
// by C4 it leads nothing after it. What was granted below the snapshot that the
// replay began with cannot be judged.
func (c *content) granted() {
	c.grants = slices.DeleteFunc(c.grants, func(e trace.Event) bool {
		at := kafka.Offset(e.Offset)
		if at >= c.next {
			return false
		}
		if at < c.began-1 {
			return true
		}
		c.rules.Looked++
		id := kafka.BrokerID(e.Broker)
		b, ok := c.image.Broker(id)
		if n := c.image.LeaderCount(id); n > 0 || ok && !b.Fenced {
			c.wrong("C11", "broker %d may shut down at offset %d, by controller epoch %d, and leads %d partitions, fenced: %t", id, at, e.Epoch, n, ok && b.Fenced)
		}
		return true
	})
}

package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kraftcontroller/machine"
)

// appended names a batch that a leader appended.
type appended struct {
	epoch kafka.LeaderEpoch
	base  kafka.Offset
}

// asked takes note of the batches that an input was answered by which asks for
// leaders that may have lost records.
func (j *judge) asked(c *controller, in machine.Input, fx machine.Effects) {
	req, ok := in.(machine.Request)
	if !ok {
		return
	}
	if r, ok := req.Body.(*kmsg.ElectLeadersRequest); !ok || r.ElectionType != 1 {
		return
	}
	for _, a := range fx.Appends {
		j.ledger.asked[appended{c.claimed, a.BaseOffset}] = true
	}
}

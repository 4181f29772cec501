package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kraftcontroller/raft"
)

// kind is what an event does.
type kind uint8

const (
	evRequest   kind = iota // a request arrives at node
	evResponse              // a response arrives at node
	evFailed                // node learns that a request of its failed
	evFlushed               // an fsync of node's log is done
	evInstalled             // node has installed a snapshot
	evTick                  // node's deadline
	evStart                 // node starts
	evResume                // node runs on after a pause
	evClient                // a client appends
	evFault                 // the next fault strikes
	evHeal                  // the network is whole again
	evCalm                  // node's disk, or the network, is fast again
	evAsk                   // a broker's request arrives at a controller
	evAnswer                // its answer arrives at the broker
	evBeat                  // a broker's next round
	evCrash                 // node crashes
)

var kindNames = [...]string{
	"request", "response", "failed", "flushed", "installed", "tick",
	"start", "resume", "client", "fault", "heal", "calm", "ask", "answer", "beat", "crash",
}

// event is something that happens. Boot says in which life of the node: an
// event for an earlier life is dropped.
type event struct {
	kind     kind
	node     int
	boot     int
	peer     int
	peerBoot int
	id       uint64
	mark     int
	msg      raft.Message
	ask      kmsg.Request
	answer   kmsg.Response
}

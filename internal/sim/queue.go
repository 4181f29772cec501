package sim

import (
	"time"

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
)

var kindNames = [...]string{
	"request", "response", "failed", "flushed", "installed", "tick",
	"start", "resume", "client", "fault", "heal", "calm", "ask", "answer", "beat",
}

// event is something that happens at a time. Boot says in which life of the
// node: an event for an earlier life is dropped.
type event struct {
	at       time.Duration
	seq      uint64 // order among events of one time, and of making
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

// queue is a binary heap of events by time and then by seq.
type queue struct{ heap []event }

func (q *queue) less(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	if a.at != b.at {
		return a.at < b.at
	}
	return a.seq < b.seq
}

func (q *queue) push(e event) {
	q.heap = append(q.heap, e)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.less(i, up) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// next is the time of the first event; ok is false if there is none.
func (q *queue) next() (at time.Duration, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

func (q *queue) pop() event {
	e := q.heap[0]
	n := len(q.heap) - 1
	q.heap[0] = q.heap[n]
	q.heap[n] = event{}
	q.heap = q.heap[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && q.less(c+1, c) {
			c++
		}
		if !q.less(c, i) {
			break
		}
		q.heap[i], q.heap[c] = q.heap[c], q.heap[i]
		i = c
	}
	return e
}

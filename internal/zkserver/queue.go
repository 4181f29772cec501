package zkserver

import (
	"sync"

	"kbench/internal/zkserver/proto"
)

// event is what the core's queue holds.
type event struct {
	conn    *conn
	connect *proto.ConnectRequest // first frame
	subject string                // of the client's certificate, with connect
	req     *proto.Request        // later frames
	fault   proto.Code            // a frame that could not be decoded: req has its xid alone
	closed  bool                  // the connection is gone
}

// queue takes events from readers and gives them to the core in batches. It is
// bounded by its writers: a connection has at most MaxInFlight requests in it,
// besides its first and its last event.
type queue struct {
	mu     sync.Mutex
	events []event
	// ready has a token while events may be waiting.
	ready chan struct{}
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(e event) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	q.wake()
}

// wake makes the core look, events or not.
func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take gives all waiting events and keeps spare for the next ones.
func (q *queue) take(spare []event) []event {
	clear(spare)
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.events
	q.events = spare[:0]
	return out
}

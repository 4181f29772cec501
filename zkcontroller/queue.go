package zkcontroller

import (
	"context"
	"errors"
	"sync"
	"time"

	"kbench/zkcontroller/machine"
)

// maxEvents bounds the queue. Watch events are bounded by the watches armed,
// calls by the connections; a queue this long means that the event thread is
// stuck, and further calls are refused.
const maxEvents = 1 << 20

var errQueueFull = errors.New("the controller's event queue is full")

// event is one element of the queue.
type event struct {
	kind  eventKind
	input machine.Input // of machineEvent
	at    int64         // CLOCK_MONOTONIC when it was seen, ns
	done  chan<- error  // of resignEvent
}

type eventKind uint8

const (
	machineEvent      eventKind = iota
	controllerChanged           // /controller was created or rewritten
	controllerDeleted           // /controller is gone
	sessionExpired              //
	reconnectedEvent            //
	resignEvent                 // somebody asked for a hand-over
)

// queue is the FIFO of the event thread.
type queue struct {
	mu     sync.Mutex
	events []event
	bell   chan struct{} // holds a token while events wait
}

func newQueue() *queue { return &queue{bell: make(chan struct{}, 1)} }

// put appends an event.
func (q *queue) put(e event) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) >= maxEvents {
		return errQueueFull
	}
	q.events = append(q.events, e)
	q.ring()
	return nil
}

func (q *queue) ring() {
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

// clearAndPut drops what waits, gives it to the caller, and makes e the next.
func (q *queue) clearAndPut(e event) []event {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped := q.events
	q.events = []event{e}
	q.ring()
	return dropped
}

// take waits for the next event, until ctx ends or timer fires; false then.
func (q *queue) take(ctx context.Context, timer <-chan time.Time) (event, bool) {
	for {
		q.mu.Lock()
		if len(q.events) > 0 {
			e := q.events[0]
			q.events[0] = event{}
			if q.events = q.events[1:]; len(q.events) > 0 {
				q.ring()
			}
			q.mu.Unlock()
			return e, true
		}
		q.mu.Unlock()
		select {
		case <-q.bell:
		case <-timer:
			return event{}, false
		case <-ctx.Done():
			return event{}, false
		}
	}
}

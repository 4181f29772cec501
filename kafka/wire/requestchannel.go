package wire

import (
	"context"
	"fmt"
	"sync"
)

// What Kafka's brokers have where their configuration says nothing.
const (
	DefaultIOThreads      = 8   // num.io.threads
	DefaultQueuedRequests = 500 // queued.max.requests
	DefaultNetworkThreads = 3   // num.network.threads, of each listener
	// ControlPlaneQueuedRequests is the queue of a control-plane listener, which
	// has one network thread and one handler (KIP-291).
	ControlPlaneQueuedRequests = 20
)

// RequestChannel is what lies between the network threads of a broker's
// listeners and its request handlers: a queue of bounded length, first in, first
// out, and so many handlers that take from it. All listeners of a broker share
// one, but for a control-plane listener.
//
// A handler here is a permit and not a goroutine: the goroutine of a connection
// waits in the queue for one and then handles its request itself, so that idle
// channels cost nothing and a request that finds a free handler changes no
// goroutine. A connection has one request in the channel at most.
type RequestChannel struct {
	handlers, capacity int

	mu      sync.Mutex
	busy    int      // handlers with a request; below handlers only while nothing waits
	waiting requests // the queue; at most capacity
	blocked requests // those for which network threads wait until the queue has room
}

// NewRequestChannel makes a channel with so many handlers (num.io.threads) and
// room for so many requests (queued.max.requests).
func NewRequestChannel(handlers, queued int) (*RequestChannel, error) {
	if handlers < 1 || queued < 1 {
		return nil, fmt.Errorf("request channel with %d handlers and room for %d requests: both must be 1 or more", handlers, queued)
	}
	return &RequestChannel{handlers: handlers, capacity: queued}, nil
}

// queued is a request in a channel, and belongs to its connection.
type queued struct {
	moved chan struct{} // room for its two moves: into the queue, and to a handler
	next  *queued
}

// requests is a list of requests, first in, first out.
type requests struct {
	first, last *queued
	n           int
}

func (r *requests) push(q *queued) {
	if r.first == nil {
		r.first = q
	} else {
		r.last.next = q
	}
	r.last = q
	r.n++
}

// pop gives the first, nil where there is none.
func (r *requests) pop() *queued {
	q := r.first
	if q != nil {
		r.first, q.next = q.next, nil
		r.n--
	}
	return q
}

// networkThread is what a connection shares with others of its listener: as
// long as it waits for room in the queue it neither takes their requests nor
// sends their answers.
type networkThread struct{ mu sync.Mutex }

// pass waits until the thread waits for no room.
func (n *networkThread) pass() {
	n.mu.Lock() // whoever waits for room holds it
	defer n.mu.Unlock()
}

// take puts a request into the queue by its network thread and returns when a
// handler takes it; free ends that. It waits as long as that takes: like Kafka's,
// a request in the queue is handled even when its client has left.
func (c *RequestChannel) take(q *queued, by *networkThread) {
	by.mu.Lock()
	c.mu.Lock()
	switch {
	case c.busy < c.handlers:
		c.busy++
		c.mu.Unlock()
		by.mu.Unlock()
		return
	case c.waiting.n < c.capacity:
		c.waiting.push(q)
		c.mu.Unlock()
	default:
		c.blocked.push(q)
		c.mu.Unlock()
		<-q.moved
	}
	by.mu.Unlock()
	<-q.moved
}

// free gives the handler to the first request of the queue, and its room to the
// first that waits for some.
func (c *RequestChannel) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.waiting.pop()
	if q == nil {
		c.busy--
		return
	}
	q.moved <- struct{}{}
	if q = c.blocked.pop(); q != nil {
		c.waiting.push(q)
		q.moved <- struct{}{}
	}
}

// parkKey finds the connection in the context of its handlers.
type parkKey struct{}

// Park frees the handler of the request that ctx belongs to. Kafka's handlers
// never wait for what others must do: a request that has to is left in a
// purgatory or with a callback, and another thread completes it. So a Handler
// calls Park on its own goroutine before it waits for anything that Kafka's
// would not block its thread for, and goes on without a handler to the end. It
// may be called again; a server without a RequestChannel needs it not.
func Park(ctx context.Context) {
	if c, ok := ctx.Value(parkKey{}).(*serverConn); ok {
		c.freeHandler()
	}
}

// awaitHandler waits in the queue until a handler takes the connection's
// request.
func (c *serverConn) awaitHandler() {
	if ch := c.srv.cfg.Requests; ch != nil {
		ch.take(&c.request, c.thread)
		c.handled = true
	}
}

// freeHandler gives back the handler, where the connection still has it.
func (c *serverConn) freeHandler() {
	if c.handled {
		c.handled = false
		c.srv.cfg.Requests.free()
	}
}

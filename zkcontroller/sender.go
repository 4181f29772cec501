package zkcontroller

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

// maxQueued bounds the requests that wait for one broker. Kafka's queue has no
// bound; here a broker that falls this far behind loses its queue and is sent
// everything anew, which is the same to it and costs less.
const maxQueued = 20_000

// request is one element of a sender's queue.
type request struct {
	// build lays the request out, on the sender's goroutine; nil for a mark in
	// the queue that is only answered.
	build    func() kmsg.Request
	answered func(kmsg.Response) // with nil for a mark, or when the broker is dropped; may be nil
	mark     bool
	dropped  func() // the queue overflowed; may be nil
}

// sender sends requests to one broker in order, one at a time, and each for as
// long as it takes: only the broker's removal ends the retries (Kafka's
// RequestSendThread). The event thread queues, the sender's goroutine sends.
type sender struct {
	c      *Controller
	id     kafka.BrokerID
	cancel context.CancelFunc

	mu      sync.Mutex
	addr    string
	waiting []request
	bell    chan struct{}
}

// addSender opens a queue, or gives an open one its broker's new address.
func (c *Controller) addSender(b *machine.Broker) {
	ep := endpoint(b, c.cfg.ControlListener)
	if s := c.senders[b.ID]; s != nil {
		s.mu.Lock()
		s.addr = ep.Addr()
		s.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &sender{c: c, id: b.ID, cancel: cancel, addr: ep.Addr(), bell: make(chan struct{}, 1)}
	c.senders[b.ID] = s
	c.wg.Go(func() { s.run(ctx) })
}

// removeSender drops a queue with all that is in it.
func (c *Controller) removeSender(id kafka.BrokerID) {
	if s := c.senders[id]; s != nil {
		delete(c.senders, id)
		s.cancel()
	}
}

// send queues a request; one to a broker without a queue is dropped.
func (c *Controller) send(id kafka.BrokerID, r request) {
	if s := c.senders[id]; s != nil {
		s.put(r)
	}
}

// after calls f when everything queued so far is answered, or the broker is
// dropped.
func (s *sender) after(f func()) {
	s.put(request{mark: true, answered: func(kmsg.Response) { f() }})
}

func (s *sender) put(r request) {
	s.mu.Lock()
	if len(s.waiting) < maxQueued || r.mark {
		s.waiting = append(s.waiting, r)
		s.mu.Unlock()
		select {
		case s.bell <- struct{}{}:
		default:
		}
		return
	}
	lost := append(s.waiting, r)
	s.waiting = nil
	s.mu.Unlock()
	for _, l := range lost {
		if l.mark {
			l.answered(nil)
		}
		if l.dropped != nil {
			l.dropped()
		}
	}
	s.c.post(machine.Resync{Broker: s.id})
}

// next waits for the head of the queue.
func (s *sender) next(ctx context.Context) (request, bool) {
	for {
		s.mu.Lock()
		if len(s.waiting) > 0 {
			r := s.waiting[0]
			s.waiting[0] = request{}
			s.waiting = s.waiting[1:]
			s.mu.Unlock()
			return r, true
		}
		s.mu.Unlock()
		select {
		case <-s.bell:
		case <-ctx.Done():
			return request{}, false
		}
	}
}

func (s *sender) run(ctx context.Context) {
	var conn *wire.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
		s.finish()
	}()
	for {
		r, ok := s.next(ctx)
		if !ok {
			return
		}
		if r.mark {
			r.answered(nil)
			continue
		}
		req := r.build()
		var resp kmsg.Response
		if conn, resp = s.deliver(ctx, conn, req); resp == nil {
			return
		}
		if r.answered != nil {
			r.answered(resp)
		}
	}
}

// finish answers the marks that are left.
func (s *sender) finish() {
	s.mu.Lock()
	left := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, r := range left {
		if r.mark {
			r.answered(nil)
		}
	}
}

// deliver sends req until it is answered; nil when the broker was removed.
func (s *sender) deliver(ctx context.Context, conn *wire.Conn, req kmsg.Request) (*wire.Conn, kmsg.Response) {
	told := false
	for { // ends with an answer or the removal of the broker
		var resp kmsg.Response
		var err error
		if conn == nil {
			conn, err = s.dial(ctx)
		}
		if err == nil {
			resp, err = s.once(ctx, conn, req)
		}
		if err == nil {
			return conn, resp
		}
		if conn != nil {
			conn.Close()
			conn = nil
		}
		if ctx.Err() != nil {
			return conn, nil
		}
		if !told {
			told = true
			s.c.cfg.Logger.Warn("request to broker is tried again until it is answered", "controller", s.c.cfg.ID, "broker", s.id, "err", err)
		}
		if !sleep(ctx, s.c.cfg.RetryBackoff) {
			return conn, nil
		}
	}
}

func (s *sender) once(ctx context.Context, conn *wire.Conn, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, s.c.cfg.SocketTimeout)
	defer cancel()
	return conn.Request(ctx, req)
}

func (s *sender) dial(ctx context.Context) (*wire.Conn, error) {
	s.mu.Lock()
	addr := s.addr
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, min(s.c.cfg.SocketTimeout, 10*time.Second))
	defer cancel()
	return wire.Dial(ctx, addr, wire.DialOptions{ClientID: "controller", Dial: s.c.cfg.DialBroker}.With(s.c.cfg.Identity))
}

// post queues a machine event of the controller's own.
func (c *Controller) post(in machine.Input) {
	if err := c.queue.put(event{input: in}); err != nil {
		c.cfg.Logger.Error("event lost", "controller", c.cfg.ID, "event", in, "err", err)
	}
}

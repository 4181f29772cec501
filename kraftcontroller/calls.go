package kraftcontroller

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/wire"
	"kbench/kraftcontroller/machine"
)

// calls are the requests whose handlers wait.
type calls struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]chan answer
}

// queued is a request before the loop, and when it came there.
type queued struct {
	machine.Request
	at time.Duration
}

// answer is the machine's. notController says that every error in it is
// NOT_CONTROLLER, as a forwarding broker must be told.
type answer struct {
	body          kmsg.Response
	notController bool
}

func newCalls() *calls { return &calls{open: map[uint64]chan answer{}} }

func (c *calls) begin() (uint64, chan answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	ch := make(chan answer, 1)
	c.open[c.last] = ch
	return c.last, ch
}

func (c *calls) end(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

// answer hands a over to the handler, if one still waits.
func (c *calls) answer(id uint64, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.open[id]; ch != nil {
		ch <- a // the machine answers once
		delete(c.open, id)
	}
}

// ask asks for what a request wants; a nil body where the client has left.
func (c *Controller) ask(ctx context.Context, r *wire.Request) (answer, error) {
	if req, ok := r.Body.(*kmsg.UpdateFeaturesRequest); ok {
		return c.askFeatures(ctx, r, req)
	}
	return c.askMachine(ctx, r)
}

// askMachine hands a request to the loop and waits for its answer.
func (c *Controller) askMachine(ctx context.Context, r *wire.Request) (answer, error) {
	id, ch := c.calls.begin()
	defer c.calls.end(id)
	select {
	case c.requests <- queued{machine.Request{ID: id, Body: r.Body, Principal: r.Principal, ClientID: r.ClientID}, c.now()}:
	case <-c.stopped:
		return answer{}, ErrStopped
	case <-ctx.Done():
		c.gaveUp(r)
		return answer{}, nil
	}
	select {
	case a := <-ch:
		withoutNulls(a.body)
		return a, nil
	case <-c.stopped:
		return answer{}, ErrStopped
	case <-ctx.Done():
		c.gaveUp(r)
		return answer{}, nil
	}
}

// gaveUp counts a request whose client left before its answer came.
func (c *Controller) gaveUp(r *wire.Request) {
	c.counters.timedOut.Add(1)
	if r.Body.Key() == int16(kmsg.BrokerHeartbeat) {
		c.counters.heartbeatsTimedOut.Add(1)
	}
}

// withoutNulls makes absent lists empty ones: kmsg sends nil as null, Kafka's
// own classes never do, and its tools fail over one.
func withoutNulls(body kmsg.Response) {
	r, ok := body.(*kmsg.CreateTopicsResponse)
	if !ok {
		return
	}
	for i := range r.Topics {
		if r.Topics[i].Configs == nil {
			r.Topics[i].Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		}
	}
}

// serve is the handler of every request that the machine decides.
func (c *Controller) serve(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	a, err := c.ask(ctx, r)
	return a.body, err
}

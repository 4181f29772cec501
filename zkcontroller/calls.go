package zkcontroller

import (
	"context"
	"sync"
	"time"

	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

// calls holds the requests whose handlers wait for the event thread.
type calls struct {
	mu   sync.Mutex
	last machine.CallID
	open map[machine.CallID]chan *machine.Reply
	shot bool // no more are taken
}

func newCalls() *calls { return &calls{open: map[machine.CallID]chan *machine.Reply{}} }

// begin opens a call; false when the controller has shut down.
func (c *calls) begin() (machine.CallID, chan *machine.Reply, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shot {
		return 0, nil, false
	}
	c.last++
	ch := make(chan *machine.Reply, 4)
	c.open[c.last] = ch
	return c.last, ch, true
}

func (c *calls) end(id machine.CallID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

// deliver hands a reply to the handler that waits for it, if one still does.
func (c *calls) deliver(r *machine.Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.open[r.Call]; ch != nil {
		select {
		case ch <- r:
		default: // a call gets at most two replies
		}
	}
}

// refuse answers a call that never reached the machine.
func (c *calls) refuse(in machine.Input) {
	if id, refusal := machine.Refusal(in); refusal != nil {
		c.deliver(&machine.Reply{Call: id, Final: true, Body: refusal})
	}
}

// shut refuses all further calls and ends those that wait.
func (c *calls) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shot = true
	for id, ch := range c.open {
		close(ch)
		delete(c.open, id)
	}
}

// maxCallTime bounds a call whose request names no time-out.
const maxCallTime = 10 * time.Minute

// call queues what make gives for a call id and waits for the final reply, without
// a request handler and at most for timeout; then it gives the last interim one. Without any, and where
// this is not the active controller, it gives the refusal that belongs to the
// event.
func (c *Controller) call(ctx context.Context, timeout time.Duration, build func(id machine.CallID) machine.Input) any {
	refuse := func(in machine.Input) any {
		_, refusal := machine.Refusal(in)
		return refusal
	}
	if !c.office.Load() {
		return refuse(build(0))
	}
	id, ch, ok := c.calls.begin()
	if !ok {
		return refuse(build(0))
	}
	defer c.calls.end(id)
	wire.Park(ctx)
	in := build(id)
	if err := c.queue.put(event{input: in}); err != nil {
		return refuse(in)
	}
	t := time.NewTimer(timeout)
	defer t.Stop()
	var interim any
	for {
		select {
		case r, ok := <-ch:
			switch {
			case !ok:
				return refuse(in)
			case r.Final:
				return r.Body
			}
			interim = r.Body
		case <-t.C:
			c.post(machine.Abandon{Call: id})
			return interim
		case <-ctx.Done():
			c.post(machine.Abandon{Call: id})
			return interim
		}
	}
}

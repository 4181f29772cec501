package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"kbench/harness/netfault"
)

// ErrGone is in the error of a call to an agent that has ended.
var ErrGone = errors.New("the network agent has ended")

// answerWithin bounds what a call takes beyond what it asks for.
const answerWithin = 10 * time.Second

// endWithin bounds how long an agent takes to end: its container goes with it,
// which takes a busy engine its time.
const endWithin = time.Minute

// Client holds an agent.
type Client struct {
	conn io.ReadWriteCloser
	here netip.AddrPort
	done chan struct{} // closed when the agent says no more
	end  func() error  // closes conn, once

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
}

// Connect speaks to the agent at the other end of conn, which it owns from then
// on: Close of conn ends the agent's input, and reading from it ends when the
// agent has. What an agent says that is no answer is in the error.
func Connect(ctx context.Context, conn io.ReadWriteCloser) (*Client, error) {
	c := &Client{conn: conn, end: sync.OnceValue(conn.Close), done: make(chan struct{}), waiting: map[int]chan reply{}}
	first := make(chan reply, 1)
	c.waiting[0] = first
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var said string
	go func() {
		defer close(c.done)
		said = c.read()
	}()
	select {
	case r := <-first:
		c.here = r.Here
		return c, nil
	case <-c.done:
		return nil, errors.Join(fmt.Errorf("start the network agent: it ended: %q", said), c.end())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("start the network agent: %w", ctx.Err()), c.end())
	}
}

// read passes replies on until the agent ends, and gives the first line that
// was none.
func (c *Client) read() (said string) {
	lines := bufio.NewScanner(c.conn)
	for lines.Scan() {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			if said == "" {
				said = lines.Text()
			}
			continue
		}
		c.mu.Lock()
		ch := c.waiting[r.ID]
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
	return said
}

func (c *Client) call(ctx context.Context, r request) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Within+answerWithin)
	defer cancel()
	ch := make(chan reply, 1)
	c.mu.Lock()
	c.next++
	r.ID = c.next
	c.waiting[r.ID] = ch
	b, err := json.Marshal(r)
	if err == nil {
		_, err = c.conn.Write(append(b, '\n'))
	}
	c.mu.Unlock()
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	select {
	case out := <-ch:
		if out.Error != "" {
			return out, errors.New(out.Error)
		}
		return out, nil
	case <-c.done:
		return reply{}, ErrGone
	case <-ctx.Done():
		return reply{}, fmt.Errorf("wait for the network agent: %w", ctx.Err())
	}
}

// Here is where the agent hears others: the node's address and a port of the
// agent.
func (c *Client) Here() netip.AddrPort { return c.here }

// Gone reports whether the agent has ended.
func (c *Client) Gone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Set makes faults all that is wrong with the node's network; none heal it. On
// an error nothing is wrong with it.
func (c *Client) Set(ctx context.Context, faults []netfault.Fault) error {
	_, err := c.call(ctx, request{Do: verbSet, Faults: faults})
	return err
}

// Reach connects from the node to an address and gives how long it took.
func (c *Client) Reach(ctx context.Context, to netip.AddrPort, within time.Duration) (time.Duration, error) {
	r, err := c.call(ctx, request{Do: verbReach, To: to, Within: within})
	return r.Took, err
}

// Push sends bytes from the node to another agent and gives how long it took
// until they had arrived.
func (c *Client) Push(ctx context.Context, to netip.AddrPort, bytes int64, within time.Duration) (time.Duration, error) {
	r, err := c.call(ctx, request{Do: verbReach, To: to, Bytes: bytes, Within: within})
	return r.Took, err
}

// Send sends count datagrams of token, 1 to MaxToken bytes, to another agent, and
// returns when they are sent, however many were lost.
func (c *Client) Send(ctx context.Context, to netip.AddrPort, token string, count int) error {
	_, err := c.call(ctx, request{Do: verbSend, To: to, Token: token, Count: count, Within: time.Duration(count) * time.Millisecond})
	return err
}

// Heard is how many datagrams of token have come.
func (c *Client) Heard(ctx context.Context, token string) (int, error) {
	r, err := c.call(ctx, request{Do: verbHeard, Token: token})
	return r.Count, err
}

// Close ends the agent, which heals the network, and waits until it has. It is
// idempotent.
func (c *Client) Close() error {
	err := c.end()
	select {
	case <-c.done:
	case <-time.After(endWithin):
		err = errors.Join(err, errors.New("the network agent does not end"))
	}
	return err
}

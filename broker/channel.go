package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/wire"
)

// errNoController says that no controller is known at the moment.
var errNoController = errors.New("no active controller is known")

// channel is one connection to whoever is the active controller, made anew
// when that changes or the connection breaks. It is safe for concurrent use.
type channel struct {
	b    *Broker
	name string

	mu       sync.Mutex
	conn     *wire.Conn
	versions wire.Versions
	closed   bool
}

func (b *Broker) newChannel(name string) *channel {
	c := &channel{b: b, name: name}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.channels = append(b.channels, c)
	return c
}

// request sends what build makes for the controller's versions and waits for
// the answer, at most as long as ctx and the request timeout allow. It does
// not retry.
func (c *channel) request(ctx context.Context, build func(wire.Versions) (kmsg.Request, error)) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.b.cfg.RequestTimeout)
	defer cancel()
	conn, versions, err := c.get(ctx)
	if err != nil {
		return nil, err
	}
	req, err := build(versions)
	if err != nil {
		return nil, err
	}
	resp, err := conn.Request(ctx, req)
	if err != nil {
		c.drop(conn) // a late answer must not hold up the next request
		return nil, err
	}
	return resp, nil
}

// get gives a connection to the controller of this moment.
func (c *channel) get(ctx context.Context) (*wire.Conn, wire.Versions, error) {
	id, addr, ok := c.b.plane.controller()
	if !ok {
		return nil, nil, errNoController
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, wire.ErrClosed
	}
	if c.conn != nil && c.conn.Addr() == addr && c.conn.Err() == nil {
		return c.conn, c.versions, nil
	}
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
	conn, err := wire.Dial(ctx, addr, c.b.dialOptions(c.name))
	if err != nil {
		return nil, nil, fmt.Errorf("controller %d: %w", id, err)
	}
	versions, err := conn.APIVersions(ctx)
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("controller %d: %w", id, err)
	}
	c.conn, c.versions = conn, versions
	return conn, versions, nil
}

// drop closes a connection that was found unfit.
func (c *channel) drop(conn *wire.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.conn = nil
	}
	conn.Close()
}

// reset closes the connection where it goes to another node than addr, and
// fails what waits on it.
func (c *channel) reset(addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil && c.conn.Addr() != addr {
		c.conn.Close()
		c.conn = nil
	}
}

// controllerMoved cuts connections to a controller that is none any longer: a
// paused one would hold its requests until they time out.
func (b *Broker) controllerMoved(addr string) {
	b.mu.Lock()
	channels := b.channels
	b.mu.Unlock()
	for _, c := range channels {
		c.reset(addr)
	}
}

func (b *Broker) closeChannels() {
	b.mu.Lock()
	channels := b.channels
	b.mu.Unlock()
	for _, c := range channels {
		c.mu.Lock()
		c.closed = true
		if c.conn != nil {
			c.conn.Close()
			c.conn = nil
		}
		c.mu.Unlock()
	}
}

func (b *Broker) dialOptions(purpose string) wire.DialOptions {
	return wire.DialOptions{ClientID: fmt.Sprintf("broker-%d-%s", b.cfg.ID, purpose), Dial: b.cfg.Dial}
}

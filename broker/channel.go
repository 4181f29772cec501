package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// errNoController says that no controller is known at the moment.
var errNoController = errors.New("no active controller is known")

// channel is one connection to whoever is the active controller, made anew
// when that changes or the connection breaks. One request at a time uses it;
// reset and shut may be called meanwhile and end it.
type channel struct {
	b     *Broker
	name  string
	where func() (kafka.BrokerID, string, bool) // the controller's id and address now
	as    func() wire.Identity

	mu       sync.Mutex // never held while anything is waited for
	conn     *wire.Conn
	versions wire.Versions
	addr     string             // where conn or the dial under way goes
	cancel   context.CancelFunc // of the dial under way, nil for none
	closed   bool
}

// newChannel makes a channel to where the plane sends what is for the controller.
func (b *Broker) newChannel(name string) *channel {
	c := &channel{b: b, name: name, where: b.plane.controller, as: b.plane.identity}
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
	id, addr, ok := c.where()
	if !ok {
		return nil, nil, errNoController
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, nil, wire.ErrClosed
	}
	old := c.conn
	if old != nil && c.addr == addr && old.Err() == nil {
		defer c.mu.Unlock()
		return old, c.versions, nil
	}
	c.conn, c.addr, c.cancel = nil, addr, cancel
	c.mu.Unlock()
	if old != nil {
		old.Close()
	}
	conn, versions, err := c.dial(ctx, addr)
	if err != nil {
		return nil, nil, fmt.Errorf("controller %d: %w", id, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = nil
	if c.closed || c.addr != addr {
		conn.Close()
		return nil, nil, fmt.Errorf("controller %d: %w", id, wire.ErrClosed)
	}
	c.conn, c.versions = conn, versions
	return conn, versions, nil
}

func (c *channel) dial(ctx context.Context, addr string) (*wire.Conn, wire.Versions, error) {
	conn, err := wire.Dial(ctx, addr, c.b.dialOptions(c.name, c.as()))
	if err != nil {
		return nil, nil, err
	}
	versions, err := conn.APIVersions(ctx)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, versions, nil
}

// drop closes a connection that was found unfit.
func (c *channel) drop(conn *wire.Conn) {
	c.mu.Lock()
	if c.conn == conn {
		c.conn = nil
	}
	c.mu.Unlock()
	conn.Close()
}

// reset ends the connection, or the dial under way, where it goes to another
// node than addr.
func (c *channel) reset(addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.addr != addr {
		c.end()
	}
}

// end fails what waits on the connection. The caller holds mu.
func (c *channel) end() {
	c.addr = ""
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// shut ends the channel for good.
func (c *channel) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.end()
}

// controllerMoved cuts connections to a controller that is none any longer: a
// paused one would hold its requests until they time out.
func (b *Broker) controllerMoved() {
	for _, c := range b.allChannels() {
		if _, addr, ok := c.where(); ok {
			c.reset(addr)
		}
	}
}

func (b *Broker) closeChannels() {
	for _, c := range b.allChannels() {
		c.shut()
	}
}

// allChannels gives the channels; there are no more once the broker is made.
func (b *Broker) allChannels() []*channel {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.channels
}

func (b *Broker) dialOptions(purpose string, as wire.Identity) wire.DialOptions {
	return wire.DialOptions{ClientID: fmt.Sprintf("broker-%d-%s", b.cfg.ID, purpose), Dial: b.cfg.Dial}.With(as)
}

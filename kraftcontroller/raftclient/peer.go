package raftclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raft"
)

// Bounds of the pause between two attempts to connect, Kafka's
// reconnect.backoff.ms and .max.ms of the quorum.
const (
	reconnectMin = 50 * time.Millisecond
	reconnectMax = 500 * time.Millisecond
)

// outgoing is a request of the machine.
type outgoing struct {
	id  uint64
	msg raft.Message
}

// peer is another node of the quorum. A server answers a connection's requests in order and
// may park a fetch, so votes and the like have a connection of their own.
type peer struct {
	fetch, rpc *link
}

// peer gives the connections to a node, made when the machine first sends to
// it: voters, leaders and bootstrap servers.
func (c *Client) peer(id kafka.BrokerID) *peer {
	p := c.peers[id]
	if p == nil {
		p = &peer{fetch: newLink(c, id), rpc: newLink(c, id)}
		c.peers[id] = p
		c.spawn(p.fetch.run)
		c.spawn(p.rpc.run)
	}
	return p
}

// send hands a request to its connection and never blocks.
func (p *peer) send(o outgoing) {
	switch o.msg.(type) {
	case raft.FetchRequest, raft.FetchSnapshotRequest:
		p.fetch.send(o)
	default:
		p.rpc.send(o)
	}
}

// link is one connection to a peer, made anew when it breaks, with one request
// in flight. A new request replaces one that has no answer yet, because the
// machine has at most one out per peer: it has given the old one up, and an
// answer in order would hold the new one back.
type link struct {
	client *Client
	id     kafka.BrokerID
	wake   chan struct{}

	mu    sync.Mutex
	next  *outgoing
	abort context.CancelFunc // of the request in flight

	// Owned by run's goroutine.
	conn     *wire.Conn
	versions wire.Versions
	backoff  time.Duration
	retryAt  time.Time
	lost     bool // it was said that the peer cannot be reached
}

func newLink(c *Client, id kafka.BrokerID) *link {
	return &link{client: c, id: id, wake: make(chan struct{}, 1)}
}

func (l *link) send(o outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = &o
	if l.abort != nil {
		l.abort()
	}
	signal(l.wake)
}

// take gives the next request and a context for it, nil where none waits.
func (l *link) take(ctx context.Context) (*outgoing, context.Context, context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.next
	if o == nil {
		return nil, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.client.cfg.RequestTimeout)
	l.next, l.abort = nil, cancel
	return o, ctx, cancel
}

func (l *link) done(cancel context.CancelFunc) {
	cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abort = nil
}

// run carries requests until ctx ends.
func (l *link) run(ctx context.Context) {
	defer l.hangUp()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		o, reqCtx, cancel := l.take(ctx)
		if o == nil {
			continue
		}
		msg, err := l.roundTrip(reqCtx, o.msg)
		l.done(cancel)
		var in raft.Input = raft.Response{ID: o.id, Message: msg}
		if err != nil {
			in = raft.RequestFailed{ID: o.id}
		}
		if err == nil {
			l.client.heardCluster(l.id, l.conn.Addr(), msg)
		}
		l.log(ctx, err)
		if l.client.post(ctx, in) != nil {
			return
		}
	}
}

func (l *link) log(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, errBackoff) {
		return
	}
	if err != nil && !l.lost {
		l.client.cfg.Logger.Warn("voter cannot be reached", "voter", l.id, "err", err)
	}
	if err == nil && l.lost {
		l.client.cfg.Logger.Info("voter answers again", "voter", l.id)
	}
	l.lost = err != nil
}

var errBackoff = errors.New("waiting before the next attempt to connect")

func (l *link) roundTrip(ctx context.Context, msg raft.Message) (raft.Message, error) {
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	req, err := l.client.encodeRequest(msg, l.version)
	if _, ok := msg.(raft.UpdateVoterRequest); ok && err != nil { // before Kafka 3.9
		return raft.UpdateVoterResponse{Error: kafka.UnsupportedVersion, LeaderID: raft.None}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("voter %d: %w", l.id, err)
	}
	count := l.client.voter && l.client.ofVoter(req)
	if count {
		l.client.talk.Sent(sizeOf(req))
	}
	resp, err := l.conn.Request(ctx, req)
	if err != nil {
		l.hangUp() // its answer may still come, in front of the next one's
		l.pause(ctx)
		return nil, err
	}
	if count {
		l.client.talk.Heard(sizeOf(resp))
	}
	l.backoff = 0
	l.client.addrs.learnFrom(resp)
	return decodeResponse(resp)
}

func (l *link) connect(ctx context.Context) error {
	addr, err := l.client.addrs.dial(l.id)
	if err != nil {
		return err
	}
	if l.conn != nil && l.conn.Err() == nil && l.conn.Addr() == addr {
		return nil
	}
	l.hangUp()
	if l.client.cfg.Now().Before(l.retryAt) {
		return errBackoff
	}
	conn, err := wire.Dial(ctx, addr, wire.DialOptions{
		ClientID: fmt.Sprintf("raft-client-%d", l.client.cfg.NodeID), Dial: l.client.cfg.Dial,
	}.With(l.client.cfg.Identity))
	if err == nil {
		if l.versions, err = conn.APIVersions(ctx); err != nil {
			conn.Close()
		}
	}
	if err != nil {
		l.pause(ctx)
		return err
	}
	l.conn = conn
	return nil
}

// pause sets when to connect again after a failure, twice as late each time. A
// request that was only replaced is no failure.
func (l *link) pause(ctx context.Context) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	l.backoff = min(max(2*l.backoff, reconnectMin), reconnectMax)
	l.retryAt = l.client.cfg.Now().Add(l.backoff)
}

func (l *link) version(key, lowest, highest int16) (int16, error) {
	return l.versions.Pick(key, lowest, highest)
}

func (l *link) hangUp() {
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
}

package outage

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"
)

// opPing is ZooKeeper's heartbeat, which belongs to no flow.
const opPing = 11

// line is how one node reaches ZooKeeper. It can be cut.
type line struct {
	trip *trip

	mu    sync.Mutex
	cut   bool
	conns map[*tapped]struct{}
}

func (l *line) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the line is cut")}
	}
	conn, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	t := &tapped{Conn: conn, line: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, errors.Join(&net.OpError{Op: "dial", Net: network, Err: errors.New("the line is cut")}, conn.Close())
	}
	l.conns[t] = struct{}{}
	return t, nil
}

// set cuts the line or mends it.
func (l *line) set(cut bool) {
	l.mu.Lock()
	l.cut = cut
	var open []*tapped
	if cut {
		for t := range l.conns {
			open = append(open, t)
		}
	}
	l.mu.Unlock()
	for _, t := range open {
		_ = t.Close()
	}
}

// tapped counts the requests that a connection carries.
type tapped struct {
	net.Conn
	line *line
}

func (t *tapped) Write(b []byte) (int, error) {
	if len(b) < 12 || binary.BigEndian.Uint32(b[8:]) == opPing {
		return t.Conn.Write(b)
	}
	return t.line.trip.pass(func() (int, error) { return t.Conn.Write(b) })
}

func (t *tapped) Close() error {
	t.line.mu.Lock()
	delete(t.line.conns, t)
	t.line.mu.Unlock()
	return t.Conn.Close()
}

// trip strikes once so many requests have passed.
type trip struct {
	mu     sync.Mutex
	left   int  // 0: not armed
	after  bool // strike when the request is sent; else before, and it is lost
	strike func()
	struck chan struct{}
}

func (p *trip) arm(requests int, after bool, strike func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.after, p.strike, p.struck = requests, after, strike, make(chan struct{})
}

// now strikes if it has not happened yet, and returns when it has.
func (p *trip) now() {
	p.mu.Lock()
	mine, strike, struck := p.left > 0, p.strike, p.struck
	p.left = 0
	p.mu.Unlock()
	if mine {
		strike()
		close(struck)
	}
	<-struck
}

func (p *trip) pass(write func() (int, error)) (int, error) {
	p.mu.Lock()
	due := p.left == 1
	if p.left > 0 {
		p.left--
	}
	after, strike, struck := p.after, p.strike, p.struck
	p.mu.Unlock()
	switch {
	case !due:
		return write()
	case after:
		n, err := write()
		strike()
		close(struck)
		return n, err
	}
	strike()
	close(struck)
	return write()
}

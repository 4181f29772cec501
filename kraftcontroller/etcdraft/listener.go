package etcdraft

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// greetingTimeout bounds how long a connection may say nothing at first.
const greetingTimeout = 10 * time.Second

// maxUndecided bounds the connections that have said nothing yet.
const maxUndecided = 1024

// Listener gives the connections of ln that are not of voters, for the Kafka
// server of the same port. Closing it closes ln.
func (p *Push) Listener(ln net.Listener, gate Gate) net.Listener {
	l := &listener{Listener: ln, transport: p.transport, gate: gate, rest: make(chan net.Conn), closed: make(chan struct{}), failed: make(chan struct{}), room: make(chan struct{}, maxUndecided)}
	l.wg.Go(l.accept)
	return l
}

// listener tells voters from the rest by the first four bytes.
type listener struct {
	net.Listener
	transport *transport
	gate      Gate
	rest      chan net.Conn
	room      chan struct{}
	closed    chan struct{}
	once      sync.Once
	wg        sync.WaitGroup

	mu      sync.Mutex
	refused time.Time // when it was last told

	failed chan struct{} // closed when accept ends, with err set
	err    error
}

func (l *listener) accept() {
	defer close(l.failed)
	for {
		nc, err := l.Listener.Accept()
		var temporary net.Error
		if errors.As(err, &temporary) && temporary.Timeout() {
			continue
		}
		if err != nil {
			l.err = err
			return
		}
		select {
		case l.room <- struct{}{}:
		case <-l.closed:
			nc.Close()
			continue
		}
		l.wg.Go(func() {
			defer func() { <-l.room }()
			l.decide(nc)
		})
	}
}

func (l *listener) decide(nc net.Conn) {
	_ = nc.SetDeadline(time.Now().Add(greetingTimeout)) // fails only where the read will too
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a listener that closes does not wait for silent clients
		select {
		case <-l.closed:
			_ = nc.SetReadDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	first := make([]byte, len(greeting))
	if _, err := io.ReadFull(nc, first); err != nil {
		nc.Close()
		return
	}
	to, conn := l.rest, net.Conn(&opened{Conn: nc, first: first})
	if string(first) == greeting {
		var err error
		if conn, err = l.gate.open(nc); err != nil {
			nc.Close()
			l.refuse(nc.RemoteAddr(), err)
			return
		}
		to = l.transport.incoming
	}
	_ = nc.SetDeadline(time.Time{})
	select {
	case to <- conn:
	case <-l.transport.stopped:
		nc.Close()
	case <-l.closed:
		nc.Close()
	}
}

// Accept gives the next connection that is no voter's.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case nc := <-l.rest:
		return nc, nil
	case <-l.failed:
		return nil, l.err
	}
}

// Close ends ln and joins what the listener started.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	err := l.Listener.Close()
	<-l.failed
	l.wg.Wait()
	return err
}

// opened is a connection whose first bytes were read.
type opened struct {
	net.Conn
	first []byte
}

func (o *opened) Read(b []byte) (int, error) {
	if len(o.first) > 0 {
		n := copy(b, o.first)
		o.first = o.first[n:]
		return n, nil
	}
	return o.Conn.Read(b)
}

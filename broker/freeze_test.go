package broker

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// freezable dials connections that lose everything while frozen is set, as a
// paused process does, and lets none be made.
func freezable(frozen *atomic.Bool) func(network, addr string, timeout time.Duration) (net.Conn, error) {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		if frozen.Load() {
			return nil, errors.New("frozen")
		}
		c, err := net.DialTimeout(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		return &frozenConn{Conn: c, frozen: frozen}, nil
	}
}

type frozenConn struct {
	net.Conn
	frozen *atomic.Bool
}

func (c *frozenConn) Write(b []byte) (int, error) {
	if c.frozen.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

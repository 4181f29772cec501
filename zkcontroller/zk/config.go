package zk

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"
)

// DefaultMaxRequestBytes is ZooKeeper's own jute.maxbuffer, 1 MiB less one.
const DefaultMaxRequestBytes = 1<<20 - 1

// DefaultMaxReplyBytes holds a list of 250,000 topics with names of the greatest
// length.
const DefaultMaxReplyBytes = 64 << 20

// minRequestBytes leaves room for the library's packets that re-arm watches,
// up to 128 KiB each: with a smaller buffer they would be dropped silently.
const minRequestBytes = 160 << 10

// Config says how a Session connects. Only Servers must be set.
type Config struct {
	Servers        []string      // host:port, without a chroot; port 2181 where left out
	SessionTimeout time.Duration // 0 means Kafka's 18 s; the server may change it within its bounds
	ConnectTimeout time.Duration // how long Connect tries; 0 means SessionTimeout, as in Kafka
	MaxInFlight    int           // outstanding requests; 0 means Kafka's 10; 1 is Kafka before 1.1
	// MaxRequestBytes is the server's jute.maxbuffer: what a request may
	// measure. 0 means ZooKeeper's default of 1 MiB less one. Each session
	// keeps one send buffer of this size; the least is 160 KiB.
	MaxRequestBytes int
	// MaxReplyBytes is the largest reply taken; a larger one breaks the
	// connection. 0 means 64 MiB. It costs no memory until a reply needs it,
	// but below 1.5 MiB it is also the size of the receive buffer.
	MaxReplyBytes int
	// PreviousSession is the id of the expired session this one follows, 0 for
	// none: its ephemeral registration may be taken over (KAFKA-7165).
	PreviousSession int64
	// OnEvent gets every event in the server's order, on the receive
	// goroutine. It must not block. nil drops events.
	OnEvent func(Event)
	// Dial replaces net.DialTimeout, for TLS, tests and faults.
	Dial func(network, addr string, timeout time.Duration) (net.Conn, error)
	// Access is how the session shows itself, and what others may do with its
	// znodes.
	Access Access
	Logger *slog.Logger // nil discards
}

func (c *Config) setDefaults() error {
	if len(c.Servers) == 0 {
		return errors.New("zk: no server given: name at least one as host:port")
	}
	for _, server := range c.Servers {
		if addr, root, has := strings.Cut(server, "/"); has {
			return fmt.Errorf("zk: server %q has the chroot /%s, which kbench does not support: its znodes are at the root; name %s and give the cluster a ZooKeeper of its own", server, root, addr)
		}
	}
	if c.SessionTimeout < 0 || c.ConnectTimeout < 0 || c.MaxInFlight < 0 {
		return fmt.Errorf("zk: session timeout %v, connect timeout %v and %d requests in flight must not be negative",
			c.SessionTimeout, c.ConnectTimeout, c.MaxInFlight)
	}
	if c.SessionTimeout == 0 {
		c.SessionTimeout = 18 * time.Second
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = c.SessionTimeout
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 10
	}
	if c.MaxRequestBytes == 0 {
		c.MaxRequestBytes = DefaultMaxRequestBytes
	}
	if c.MaxRequestBytes < minRequestBytes {
		return fmt.Errorf("zk: MaxRequestBytes (jute.maxbuffer) is %d, at least %d are needed to re-arm watches",
			c.MaxRequestBytes, minRequestBytes)
	}
	if c.Access.User != "" && c.Access.Password == "" {
		return fmt.Errorf("zk: user %q logs in without a password: give one", c.Access.User)
	}
	if c.MaxReplyBytes == 0 {
		c.MaxReplyBytes = DefaultMaxReplyBytes
	}
	if c.Dial == nil {
		c.Dial = net.DialTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

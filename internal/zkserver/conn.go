package zkserver

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
)

// conn is one client connection. Its reader and writer goroutines belong to
// it; the fields marked core belong to the core goroutine.
type conn struct {
	id   datatree.ConnID
	nc   net.Conn
	srv  *Server
	name string // remote address, for logs

	// heard is the server's clock, in ns since its start, at the last frame.
	heard atomic.Int64

	mu       sync.Mutex
	changed  sync.Cond // signals writer and reader
	out      []byte    // replies that may go
	inFlight int       // requests read and not answered
	draining bool      // no more replies will come: close when out is written
	closed   bool

	session *liveSession    // core
	touched bool            // core: is in the batch's list
	pend    []byte          // core: replies of the batch being gathered
	replies int             // core: requests answered in pend
	last    bool            // core: the connection ends after pend
	refused bool            // core: frames are ignored from now on
	caller  datatree.Caller // core: who the client has shown to be
}

func newConn(s *Server, id datatree.ConnID, nc net.Conn) *conn {
	c := &conn{id: id, nc: nc, srv: s, name: nc.RemoteAddr().String()}
	if s.cfg.TLS != nil {
		c.nc = tls.Server(nc, s.cfg.TLS)
	}
	c.changed.L = &c.mu
	c.heard.Store(s.now())
	return c
}

// handshakeTimeout bounds the wait for the first frame.
const handshakeTimeout = 10 * time.Second

// read runs until the connection ends and tells the core so.
func (c *conn) read() {
	err := c.readFrames()
	c.close()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		c.srv.log.Warn("connection closed", "remote", c.name, "reason", err)
	}
	c.srv.queue.put(event{conn: c, closed: true})
}

func (c *conn) readFrames() error {
	r := bufio.NewReaderSize(c.nc, 64<<10)
	_ = c.nc.SetReadDeadline(time.Now().Add(handshakeTimeout))
	head, err := r.Peek(4)
	if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
		return fmt.Errorf("%w; the client speaks without TLS, which this server wants", err)
	}
	if err != nil {
		return err
	}
	if answer, ok := c.srv.fourLetter(string(head)); ok {
		_, err := io.WriteString(c.nc, answer)
		return err
	}
	frame, err := c.frame(r)
	if err != nil {
		return err
	}
	hello, err := proto.DecodeConnect(frame)
	if err != nil {
		return fmt.Errorf("connect request: %w", err)
	}
	_ = c.nc.SetReadDeadline(time.Time{})
	c.srv.queue.put(event{conn: c, connect: &hello, subject: c.subject()})
	for {
		if frame, err = c.frame(r); err != nil {
			return err
		}
		if err := c.submit(frame); err != nil {
			return err
		}
	}
}

// subject is that of the client's certificate, "" without one.
func (c *conn) subject() string {
	if tc, ok := c.nc.(*tls.Conn); ok {
		if chains := tc.ConnectionState().VerifiedChains; len(chains) > 0 {
			return chains[0][0].Subject.String()
		}
	}
	return ""
}

// frame reads one frame into a slice of its own.
func (c *conn) frame(r *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(head[:]))
	if n < 0 || int(n) > c.srv.cfg.MaxBuffer {
		return nil, fmt.Errorf("request of %d bytes is malformed or over the server's jute.maxbuffer of %d bytes; raise it on the server or send less in one request", n, c.srv.cfg.MaxBuffer)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	c.heard.Store(c.srv.now())
	c.srv.stats.received.Add(1)
	return frame, err
}

// submit queues a request, waiting while too many are unanswered.
func (c *conn) submit(frame []byte) error {
	e := event{conn: c}
	var err error
	if e.req, err = proto.DecodeRequest(frame); err != nil {
		if len(frame) < 8 {
			return fmt.Errorf("request of %d bytes has no header", len(frame))
		}
		c.srv.log.Warn("request not understood", "remote", c.name, "error", err)
		e.req, e.fault = &proto.Request{Xid: int32(binary.BigEndian.Uint32(frame))}, proto.Marshalling
	}
	c.mu.Lock()
	for c.inFlight >= c.srv.cfg.MaxInFlight && !c.closed {
		c.changed.Wait()
	}
	c.inFlight++
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	c.srv.queue.put(e)
	return nil
}

// deliver hands replies to the writer. It takes b.
func (c *conn) deliver(b []byte, replies int, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight -= replies
	c.draining = c.draining || last
	if len(c.out) == 0 {
		c.out = b
	} else {
		c.out = append(c.out, b...)
	}
	if len(c.out) > c.srv.cfg.MaxReplyBacklog && !c.closed {
		c.srv.log.Warn("connection dropped: the client does not read its replies", "remote", c.name, "unread_bytes", len(c.out))
		c.closeLocked()
	}
	c.changed.Broadcast()
}

// write runs until the connection ends.
func (c *conn) write() {
	for {
		c.mu.Lock()
		for len(c.out) == 0 && !c.draining && !c.closed {
			c.changed.Wait()
		}
		b := c.out
		c.out = nil
		done := c.closed || len(b) == 0
		c.mu.Unlock()
		if done {
			c.close()
			return
		}
		if _, err := c.nc.Write(b); err != nil {
			c.close()
			return
		}
	}
}

// close ends both goroutines. It is idempotent.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
}

func (c *conn) closeLocked() {
	if c.closed {
		return
	}
	c.closed, c.out = true, nil
	_ = c.nc.Close()
	c.changed.Broadcast()
}

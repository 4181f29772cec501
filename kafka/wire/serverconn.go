package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/access"
)

// maxKeptBuffer bounds the response buffer a connection keeps between
// requests.
const maxKeptBuffer = 1 << 20

// handshakeTimeout bounds a TLS handshake.
const handshakeTimeout = 10 * time.Second

// serverConn is one accepted connection: readLoop fills queue, run empties it.
type serverConn struct {
	srv       *Server
	nc        net.Conn
	queue     chan []byte
	ctx       context.Context // ends when the client leaves or the server closes
	cancel    context.CancelFunc
	busy      atomic.Int32 // requests read and not yet answered
	principal string
	byToken   bool // the client showed a delegation token
	auth      authentication

	// Of a server with a RequestChannel.
	thread  *networkThread
	request queued // the one that run answers
	handled bool   // a handler has it; of the goroutine of run
	handler context.Context
}

func newServerConn(s *Server, nc net.Conn) *serverConn {
	ctx, cancel := context.WithCancel(s.ctx)
	if s.cfg.TLS != nil {
		nc = tls.Server(nc, s.cfg.TLS)
	}
	c := &serverConn{
		srv: s, nc: nc, queue: make(chan []byte, maxQueuedRequests),
		ctx: ctx, cancel: cancel, principal: access.Anonymous, auth: authentication{sasl: s.cfg.SASL},
		handler: ctx,
	}
	if s.cfg.Requests != nil {
		c.thread, c.request.moved = s.nextThread(), make(chan struct{}, 2)
		c.handler = context.WithValue(ctx, parkKey{}, c)
	}
	return c
}

// stopReading makes readLoop end; what is queued is still answered.
func (c *serverConn) stopReading() {
	// A failure means that the connection is closed already.
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
}

// run answers requests until the queue ends or one of them breaks the
// connection, and returns when both goroutines are done.
func (c *serverConn) run() {
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.readLoop()
	}()
	err := c.answerAll()
	c.nc.Close()
	c.cancel()
	for range c.queue { // readLoop may wait for room
	}
	<-read
	if err != nil {
		c.logClosed(err)
	}
}

func (c *serverConn) logClosed(err error) {
	c.srv.log.Warn("connection closed", "remote", c.nc.RemoteAddr(), "reason", err)
}

// readLoop queues frames until the client leaves, sends a broken frame, is
// idle for too long, or the server closes.
func (c *serverConn) readLoop() {
	defer close(c.queue)
	if err := c.shakeHands(); err != nil {
		c.cancel()
		if c.srv.ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			c.logClosed(err)
		}
		return
	}
	r := bufio.NewReaderSize(c.nc, 16<<10)
	for {
		err := c.awaitFrame(r)
		if err == nil {
			var frame []byte
			if frame, err = readFrame(r, c.srv.cfg.MaxRequestBytes); err == nil {
				c.busy.Add(1)
				c.queue <- frame // run drains the queue until it is closed
				continue
			}
		}
		c.cancel()
		if c.srv.ctx.Err() == nil && !isDisconnect(err) {
			c.logClosed(err)
		}
		return
	}
}

// shakeHands ends the TLS handshake before the first frame, and takes the
// principal of a client's certificate.
func (c *serverConn) shakeHands() error {
	tc, ok := c.nc.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
	defer cancel()
	if err := tc.HandshakeContext(ctx); err != nil {
		if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
			return fmt.Errorf("TLS handshake: %w; the client speaks without TLS, which this listener wants", err)
		}
		return fmt.Errorf("TLS handshake: %w", err)
	}
	if chains := tc.ConnectionState().VerifiedChains; len(chains) > 0 {
		c.principal = "User:" + chains[0][0].Subject.String()
	}
	return nil
}

// awaitFrame waits for the first byte of a frame, and allows the frame the
// same time again.
func (c *serverConn) awaitFrame(r *bufio.Reader) error {
	for {
		if err := c.setReadDeadline(); err != nil {
			return err
		}
		_, err := r.Peek(1)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded) && c.srv.ctx.Err() == nil:
			if c.busy.Load() == 0 {
				return fmt.Errorf("no request for %v", c.srv.cfg.IdleTimeout)
			}
		default:
			return err
		}
	}
}

// setReadDeadline moves the deadline on. Close ends the server's context before
// it sets deadlines in the past, so the check afterwards makes sure that this
// call does not undo one of them.
func (c *serverConn) setReadDeadline() error {
	if err := c.nc.SetReadDeadline(time.Now().Add(c.srv.cfg.IdleTimeout)); err != nil {
		return err
	}
	if c.srv.ctx.Err() != nil {
		return net.ErrClosed
	}
	return nil
}

// isDisconnect tells a client that left from one that broke the protocol.
func isDisconnect(err error) bool {
	var oe *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		(errors.As(err, &oe) && !oe.Timeout())
}

// answerAll answers queued requests in order, each as soon as it is handled.
func (c *serverConn) answerAll() error {
	var out []byte
	for frame := range c.queue {
		var err error
		if out, err = c.answer(out[:0], frame); err != nil {
			return errors.Join(err, c.refuse(out, err))
		}
		c.busy.Add(-1)
		if err := c.write(out); err != nil {
			return err
		}
		if cap(out) > maxKeptBuffer {
			out = nil
		}
	}
	return nil
}

// refuse sends the answer that says why authentication failed, after a moment.
// Other errors have no answer.
func (c *serverConn) refuse(out []byte, err error) error {
	if !errors.Is(err, errRefused) {
		return nil
	}
	select {
	case <-time.After(failedAuthenticationDelay):
	case <-c.ctx.Done():
	}
	return c.write(out)
}

// answer appends the answer to one frame. An error closes the connection.
func (c *serverConn) answer(out, frame []byte) (_ []byte, err error) {
	h, rest, err := parseHeader(frame)
	if err != nil {
		return out, err
	}
	if h.key == keyAPIVersions {
		c.awaitHandler()
		defer c.freeHandler()
		return c.srv.answerAPIVersions(out, h, rest)
	}
	if c.auth.done && c.auth.over() && !c.auth.serves(h.key) {
		return out, fmt.Errorf("request key %d from client %q after its delegation token expired", h.key, h.clientID)
	}
	if !c.auth.serves(h.key) {
		return out, fmt.Errorf("request key %d from client %q before it has authenticated", h.key, h.clientID)
	}
	api, ok := c.srv.apis[h.key]
	if (h.key == keySaslHandshake || h.key == keySaslAuthenticate) && (c.auth.sasl != nil || !ok) {
		return c.authenticate(out, h, rest)
	}
	if !ok {
		return out, fmt.Errorf("request key %d from client %q is not served here", h.key, h.clientID)
	}
	if h.version < api.MinVersion || h.version > api.MaxVersion {
		return out, fmt.Errorf("request key %d version %d from client %q: versions %d to %d are served", h.key, h.version, h.clientID, api.MinVersion, api.MaxVersion)
	}
	body, err := decodeBody(h, rest)
	if err != nil {
		return out, fmt.Errorf("request key %d version %d from client %q: %w", h.key, h.version, h.clientID, err)
	}
	c.awaitHandler()
	defer c.freeHandler()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handler of key %d version %d panicked: %v\n%s", h.key, h.version, r, debug.Stack())
		}
	}()
	resp, err := api.Handle(c.handler, &Request{
		Key: h.key, Version: h.version, CorrelationID: h.correlationID, ClientID: h.clientID,
		Remote: c.nc.RemoteAddr(), Listener: c.srv.cfg.Listener, Principal: c.principal, ByToken: c.byToken, Body: body,
	})
	if err != nil {
		return out, fmt.Errorf("handle key %d version %d: %w", h.key, h.version, err)
	}
	if resp == nil {
		return out, nil
	}
	if resp.Key() != h.key {
		return out, fmt.Errorf("handler of key %d answered with key %d", h.key, resp.Key())
	}
	resp.SetVersion(h.version)
	return appendResponse(out, resp, h.correlationID), nil
}

// authenticate answers the two requests of an exchange. An error with
// errRefused comes with the answer that tells it.
func (c *serverConn) authenticate(out []byte, h requestHeader, rest []byte) ([]byte, error) {
	if h.version < 0 || h.version > kmsg.RequestForKey(h.key).MaxVersion() {
		return out, fmt.Errorf("request key %d version %d from client %q is not served", h.key, h.version, h.clientID)
	}
	body, err := decodeBody(h, rest)
	if err != nil {
		return out, fmt.Errorf("request key %d version %d from client %q: %w", h.key, h.version, h.clientID, err)
	}
	var resp kmsg.Response
	switch req := body.(type) {
	case *kmsg.SASLHandshakeRequest:
		resp, err = c.auth.handshake(req)
	case *kmsg.SASLAuthenticateRequest:
		var who *identity
		resp, who, err = c.auth.authenticate(req)
		if who != nil {
			c.principal, c.byToken = who.principal, who.byToken
		}
	}
	if resp == nil {
		return out, err
	}
	resp.SetVersion(h.version)
	return appendResponse(out, resp, h.correlationID), err
}

// write sends one answer. A client that left is no error: readLoop sees it.
func (c *serverConn) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if c.thread != nil {
		c.thread.pass()
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails only where the write will too
	if _, err := c.nc.Write(b); err != nil && !isDisconnect(err) {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

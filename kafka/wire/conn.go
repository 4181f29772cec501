package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"kbench/kafka"
)

const (
	// DefaultMaxResponseBytes bounds one response where DialOptions does not:
	// room for the metadata of some millions of partitions.
	DefaultMaxResponseBytes = 512 << 20
	// maxPending bounds the requests of one connection that wait for their
	// response; a further one waits for room.
	maxPending = 1024
)

// ErrClosed is the error of requests on a connection that Close ended.
var ErrClosed = errors.New("connection closed by its owner")

// DialOptions configures a connection; every zero value has a default.
type DialOptions struct {
	ClientID string // at most 32,767 bytes; "" sends kbench
	// Dial opens the transport, for example TLS or an in-memory pipe; nil
	// dials TCP.
	Dial             func(ctx context.Context, network, addr string) (net.Conn, error)
	MaxResponseBytes int // a larger response breaks the connection
	// TLS encrypts the connection; its ServerName is the host dialled where it
	// is empty. Nil leaves it plain.
	TLS *tls.Config
	// SASL authenticates before the first request; nil does not.
	SASL sasl.Mechanism
}

// Identity is how a node that dials shows who it is, and whom it trusts. The
// zero value is plain TCP without a name.
type Identity struct {
	TLS  *tls.Config
	SASL sasl.Mechanism
}

// With gives the options with an identity's TLS and SASL.
func (o DialOptions) With(id Identity) DialOptions {
	o.TLS, o.SASL = id.TLS, id.SASL
	return o
}

// As is With for who may have no identity: nil leaves the connection plain.
func (o DialOptions) As(id *Identity) DialOptions {
	if id == nil {
		return o
	}
	return o.With(*id)
}

// Conn is one raw connection to a Kafka node. Requests are pipelined: any
// number of goroutines may call Request. A Conn that failed once fails for
// ever, and is replaced by its owner.
type Conn struct {
	addr     string
	nc       net.Conn
	clientID string
	maxBytes int

	write   chan struct{} // holds a token while somebody writes
	nextID  int32         // guarded by write
	buf     []byte        // guarded by write
	pending chan *call    // in the order of writing

	broken   chan struct{} // closed with err set
	fail     sync.Once
	err      error
	readDone chan struct{}
}

// call is one request that waits for its response.
type call struct {
	id    int32
	reply chan []byte // capacity 1: the body after the correlation id
}

// Dial connects to addr (host:port) and authenticates where o says so. ctx
// bounds that only.
func Dial(ctx context.Context, addr string, o DialOptions) (*Conn, error) {
	c, err := connect(ctx, addr, o)
	if err != nil || o.SASL == nil {
		return c, err
	}
	if err := c.authenticate(ctx, o.SASL); err != nil {
		_ = c.Close() // the reason is the exchange's
		return nil, err
	}
	return c, nil
}

func connect(ctx context.Context, addr string, o DialOptions) (*Conn, error) {
	if o.ClientID == "" {
		o.ClientID = "kbench"
	}
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = DefaultMaxResponseBytes
	}
	if len(o.ClientID) > math.MaxInt16 {
		return nil, fmt.Errorf("connect to %s: client id of %d bytes, at most %d fit", addr, len(o.ClientID), math.MaxInt16)
	}
	nc, err := o.Open(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	c := &Conn{
		addr: addr, nc: nc, maxBytes: o.MaxResponseBytes,
		clientID: o.ClientID,
		write:    make(chan struct{}, 1),
		pending:  make(chan *call, maxPending),
		broken:   make(chan struct{}),
		readDone: make(chan struct{}),
	}
	go c.readLoop()
	return c, nil
}

// Open gives the transport alone, for another protocol than Kafka's: as o dials
// it, encrypted where o says so, and nobody logged in.
func (o DialOptions) Open(ctx context.Context, addr string) (net.Conn, error) {
	dial := o.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	nc, err := dial(ctx, "tcp", addr)
	if err != nil || o.TLS == nil {
		return nc, err
	}
	cfg := o.TLS
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			_ = nc.Close() // it was never used
			return nil, err
		}
		cfg = cfg.Clone()
		cfg.ServerName = host
	}
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close() // the handshake says why
		if _, garbled := errors.AsType[tls.RecordHeaderError](err); garbled || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return nil, fmt.Errorf("TLS handshake: %w; the listener may be one without TLS", err)
		}
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return tc, nil
}

// Request sends req at the version its caller set and waits for the response.
// Where ctx ends first the response is dropped when it comes and the
// connection stays usable; a deadline that ends within a write breaks it.
// kmsg writes some tagged fields at any version once they are set: leave
// FetchRequest's HighWatermark at its default below version 18, or a real
// Kafka hangs up; and use StopReplica up to version 3, since kmsg swaps two
// fields of version 4.
// Produce with acks 0 gives nil, nil as soon as it is written.
func (c *Conn) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	resp, err := c.request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s to %s: %w", kmsg.NameForKey(req.Key()), c.addr, err)
	}
	return resp, nil
}

func (c *Conn) request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	cl, err := c.send(ctx, req)
	if err != nil || cl == nil {
		return nil, err
	}
	select {
	case body := <-cl.reply:
		return decodeResponse(req, body)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.broken:
		select { // the response may have come just before
		case body := <-cl.reply:
			return decodeResponse(req, body)
		default:
			return nil, c.err
		}
	}
}

// send writes req; a nil call means that no response will come.
func (c *Conn) send(ctx context.Context, req kmsg.Request) (*call, error) {
	if err := ctx.Err(); err != nil { // select would choose at random
		return nil, err
	}
	select {
	case c.write <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.broken:
		return nil, c.err
	}
	defer func() { <-c.write }()
	if err := c.Err(); err != nil {
		return nil, err
	}
	var cl *call
	if p, ok := req.(*kmsg.ProduceRequest); !ok || p.Acks != 0 {
		cl = &call{id: c.nextID, reply: make(chan []byte, 1)}
		select {
		case c.pending <- cl:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.broken:
			return nil, c.err
		}
	}
	c.buf = appendRequest(c.buf[:0], req, c.nextID, c.clientID)
	c.nextID = (c.nextID + 1) & 0x7fffffff
	_ = c.nc.SetWriteDeadline(writeDeadline(ctx)) // fails only where the write will too
	if _, err := c.nc.Write(c.buf); err != nil {
		c.breakWith(fmt.Errorf("write: %w", err))
		return nil, c.err
	}
	if cap(c.buf) > maxKeptBuffer {
		c.buf = nil
	}
	return cl, nil
}

// writeDeadline gives a write until ctx ends, but never so little time that a
// deadline close by breaks a healthy connection.
func writeDeadline(ctx context.Context) time.Time {
	now := time.Now()
	d, ok := ctx.Deadline()
	if !ok {
		return now.Add(writeTimeout)
	}
	if least := now.Add(100 * time.Millisecond); d.Before(least) {
		return least
	}
	return d
}

// readLoop hands each response to the oldest pending call.
func (c *Conn) readLoop() {
	defer close(c.readDone)
	r := bufio.NewReaderSize(c.nc, 32<<10)
	for first := true; ; first = false {
		frame, err := readFrame(r, c.maxBytes)
		if first && errors.Is(err, io.EOF) {
			// What a listener does to a client that speaks without TLS or has
			// not logged in.
			err = fmt.Errorf("%w before the first answer; the listener may want TLS or SASL", err)
		}
		if err != nil {
			c.breakWith(fmt.Errorf("read: %w", err))
			return
		}
		if len(frame) < 4 {
			c.breakWith(fmt.Errorf("response of %d bytes has no correlation id", len(frame)))
			return
		}
		id := int32(binary.BigEndian.Uint32(frame))
		select {
		case cl := <-c.pending:
			if cl.id != id {
				c.breakWith(fmt.Errorf("response has correlation id %d, %d is due", id, cl.id))
				return
			}
			cl.reply <- frame[4:]
		default:
			c.breakWith(fmt.Errorf("response with correlation id %d that nobody asked for", id))
			return
		}
	}
}

// decodeResponse reads the response to req. A refusal of ApiVersions comes at
// version 0 whatever was asked.
func decodeResponse(req kmsg.Request, b []byte) (resp kmsg.Response, err error) {
	resp = req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if req.Key() == keyAPIVersions {
		if len(b) >= 2 && kafka.ErrorCode(binary.BigEndian.Uint16(b)) == kafka.UnsupportedVersion {
			resp.SetVersion(0)
		}
	} else if resp.IsFlexible() {
		if b, err = skipTags(b); err != nil {
			return nil, fmt.Errorf("decode response: %w", err)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			resp, err = nil, fmt.Errorf("decode response panicked: %v", r)
		}
	}()
	if err := resp.ReadFrom(b); err != nil {
		return nil, fmt.Errorf("decode response: %w", err)
	}
	return resp, nil
}

// breakWith ends the connection; the first reason stays.
func (c *Conn) breakWith(err error) {
	c.fail.Do(func() {
		c.err = err
		close(c.broken)
		c.nc.Close()
	})
}

// Err gives the reason why the connection is broken, or nil.
func (c *Conn) Err() error {
	select {
	case <-c.broken:
		return c.err
	default:
		return nil
	}
}

// Done is closed when the connection breaks or is closed.
func (c *Conn) Done() <-chan struct{} { return c.broken }

// Addr is the address that was dialled.
func (c *Conn) Addr() string { return c.addr }

// Close ends the connection and fails what waits on it. It may be called
// again, and joins the connection's goroutine.
func (c *Conn) Close() error {
	c.breakWith(ErrClosed)
	<-c.readDone
	return nil
}

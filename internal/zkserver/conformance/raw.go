package conformance

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"kbench/internal/zkserver/proto"
)

// Raw is a client that speaks frames: it pipelines, keeps no pings, drops its
// connection at will and can send what no client would.
type Raw struct {
	Session  int64
	Password []byte
	Timeout  time.Duration // negotiated
	Zxid     int64         // highest seen in a reply

	nc  net.Conn
	r   *bufio.Reader
	xid int32
}

// Message is one frame from the server.
type Message struct {
	Xid  int32
	Zxid int64
	Code proto.Code
	Body *proto.Reader
}

// ioDeadline bounds every wait for the server.
const ioDeadline = 20 * time.Second

// DialRaw opens a connection and sends nothing.
func DialRaw(t testing.TB, addr string) *Raw {
	t.Helper()
	nc, err := net.DialTimeout("tcp", addr, ioDeadline)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &Raw{nc: nc, r: bufio.NewReaderSize(nc, 256<<10)}
}

// ConnectRaw opens a session of its own.
func ConnectRaw(t testing.TB, addr string, timeout time.Duration) *Raw {
	t.Helper()
	c := DialRaw(t, addr)
	c.hello(t, timeout)
	if c.Session == 0 {
		t.Fatal("a new session was refused")
	}
	return c
}

// Reattach takes up the session on a new connection. It reports whether the
// session still lives. A connection that ends without an answer is tried
// again: ZooKeeper does that while it closes the session's earlier connection.
func (c *Raw) Reattach(t testing.TB, addr string, password []byte) (*Raw, bool) {
	t.Helper()
	var err error
	for range 20 {
		n := DialRaw(t, addr)
		n.Session, n.Password, n.Zxid, n.xid = c.Session, password, c.Zxid, c.xid
		if err = n.tryHello(t, c.Timeout); err == nil {
			return n, n.Session != 0
		}
		n.Close()
	}
	t.Fatalf("connect: %v", err)
	return nil, false
}

func (c *Raw) hello(t testing.TB, timeout time.Duration) {
	t.Helper()
	if err := c.tryHello(t, timeout); err != nil {
		t.Fatalf("connect: %v", err)
	}
}

func (c *Raw) tryHello(t testing.TB, timeout time.Duration) error {
	t.Helper()
	b, at := proto.StartFrame(nil)
	b = proto.AppendInt64(proto.AppendInt32(b, 0), c.Zxid)
	b = proto.AppendInt64(proto.AppendInt32(b, int32(timeout.Milliseconds())), c.Session)
	if c.Password == nil {
		c.Password = make([]byte, 16)
	}
	b = proto.AppendBool(proto.AppendBuffer(b, c.Password), false)
	c.Write(t, proto.FinishFrame(b, at))
	frame, err := c.frame()
	if err != nil {
		return err
	}
	r := proto.NewReader(frame)
	r.Int32()
	c.Timeout = time.Duration(r.Int32()) * time.Millisecond
	c.Session, c.Password = r.Int64(), r.Buffer()
	return r.Err()
}

// Write sends bytes as they are.
func (c *Raw) Write(t testing.TB, b []byte) {
	t.Helper()
	_ = c.nc.SetWriteDeadline(time.Now().Add(ioDeadline))
	if _, err := c.nc.Write(b); err != nil {
		t.Fatal(err)
	}
}

// Close drops the connection and leaves the session.
func (c *Raw) Close() { _ = c.nc.Close() }

func (c *Raw) frame() ([]byte, error) {
	_ = c.nc.SetReadDeadline(time.Now().Add(ioDeadline))
	var head [4]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > 1<<30 {
		return nil, fmt.Errorf("frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(c.r, b)
	return b, err
}

// TryNext reads the next frame.
func (c *Raw) TryNext() (Message, error) {
	frame, err := c.frame()
	if err != nil {
		return Message{}, err
	}
	r := proto.NewReader(frame)
	m := Message{Xid: r.Int32(), Zxid: r.Int64(), Code: proto.Code(r.Int32()), Body: r}
	if m.Xid >= 0 {
		c.Zxid = max(c.Zxid, m.Zxid)
	}
	return m, r.Err()
}

// Next reads the next frame and fails the test if there is none.
func (c *Raw) Next(t testing.TB) Message {
	t.Helper()
	m, err := c.TryNext()
	if err != nil {
		t.Fatalf("read reply: %v", err)
	}
	return m
}

// Append adds a request to b, with the next xid, which it returns.
func (c *Raw) Append(b []byte, op proto.Op, body func([]byte) []byte) ([]byte, int32) {
	c.xid++
	xid := c.xid
	switch op {
	case proto.OpPing:
		xid = proto.XidPing
	case proto.OpAuth:
		xid = -4
	}
	b, at := proto.StartFrame(b)
	b = proto.AppendInt32(proto.AppendInt32(b, xid), int32(op))
	if body != nil {
		b = body(b)
	}
	return proto.FinishFrame(b, at), xid
}

// Do sends a request and reads its reply; events before it are skipped.
func (c *Raw) Do(t testing.TB, op proto.Op, body func([]byte) []byte) Message {
	t.Helper()
	b, xid := c.Append(nil, op, body)
	c.Write(t, b)
	for {
		if m := c.Next(t); m.Xid == xid {
			return m
		}
	}
}

var openACL = []proto.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

// Create is the body of a create request.
func Create(path string, data []byte, flags int32) func([]byte) []byte {
	return func(b []byte) []byte {
		b = proto.AppendBuffer(proto.AppendString(b, path), data)
		return proto.AppendInt32(proto.AppendACLs(b, openACL), flags)
	}
}

// SetData is the body of a setData request.
func SetData(path string, data []byte, version int32) func([]byte) []byte {
	return func(b []byte) []byte {
		return proto.AppendInt32(proto.AppendBuffer(proto.AppendString(b, path), data), version)
	}
}

// PathVersion is the body of delete and check.
func PathVersion(path string, version int32) func([]byte) []byte {
	return func(b []byte) []byte { return proto.AppendInt32(proto.AppendString(b, path), version) }
}

// PathWatch is the body of exists, getData and getChildren.
func PathWatch(path string, watch bool) func([]byte) []byte {
	return func(b []byte) []byte { return proto.AppendBool(proto.AppendString(b, path), watch) }
}

// SetWatches is the body of setWatches.
func SetWatches(zxid int64, data, exist, child []string) func([]byte) []byte {
	return func(b []byte) []byte {
		b = proto.AppendInt64(b, zxid)
		for _, list := range [][]string{data, exist, child} {
			b = proto.AppendInt32(b, int32(len(list)))
			for _, p := range list {
				b = proto.AppendString(b, p)
			}
		}
		return b
	}
}

// Sub is one operation of a multi.
type Sub struct {
	Op   proto.Op
	Body func([]byte) []byte
}

// Multi is the body of a multi request.
func Multi(subs ...Sub) func([]byte) []byte {
	return func(b []byte) []byte {
		for _, s := range subs {
			b = s.Body(proto.AppendMultiHeader(b, s.Op, false, -1))
		}
		return proto.AppendMultiHeader(b, proto.OpError, true, -1)
	}
}

// ReadStat decodes a stat.
func ReadStat(r *proto.Reader) proto.Stat {
	return proto.Stat{
		Czxid: r.Int64(), Mzxid: r.Int64(), CtimeMs: r.Int64(), MtimeMs: r.Int64(),
		Version: r.Int32(), Cversion: r.Int32(), Aversion: r.Int32(), EphemeralOwner: r.Int64(),
		DataLength: r.Int32(), NumChildren: r.Int32(), Pzxid: r.Int64(),
	}
}

// Event is a watch event as it came.
type Event struct {
	Type proto.EventType
	Path string
}

// ReadEvent decodes the body of a notification.
func ReadEvent(t testing.TB, m Message) Event {
	t.Helper()
	if m.Xid != proto.XidNotification {
		t.Fatalf("frame with xid %d (code %v) where a watch event is due", m.Xid, m.Code)
	}
	e := Event{Type: proto.EventType(m.Body.Int32())}
	m.Body.Int32()
	e.Path = m.Body.String()
	return e
}

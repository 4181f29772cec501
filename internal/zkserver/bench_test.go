package zkserver_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"kbench/internal/zkserver"
	"kbench/internal/zkserver/proto"
)

// raw is a client that speaks frames, so that benchmarks measure the server
// and tests can send what a real client would not.
type raw struct {
	nc      net.Conn
	r       *bufio.Reader
	xid     int32
	session int64
	pass    []byte
	timeout time.Duration
}

func dialRaw(t testing.TB, addr string) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(60 * time.Second))
	return &raw{nc: nc, r: bufio.NewReaderSize(nc, 1<<20)}
}

func connectRaw(t testing.TB, addr string, session int64, pass []byte, timeout time.Duration) *raw {
	t.Helper()
	c := dialRaw(t, addr)
	b, at := proto.StartFrame(nil)
	b = proto.AppendInt64(proto.AppendInt32(b, 0), 0)
	b = proto.AppendInt64(proto.AppendInt32(b, int32(timeout.Milliseconds())), session)
	b = proto.FinishFrame(proto.AppendBuffer(b, pass), at)
	if _, err := c.nc.Write(b); err != nil {
		t.Fatal(err)
	}
	r := proto.NewReader(c.frame(t))
	r.Int32()
	c.timeout = time.Duration(r.Int32()) * time.Millisecond
	c.session, c.pass = r.Int64(), r.Buffer()
	return c
}

func (c *raw) frame(t testing.TB) []byte {
	t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		t.Fatalf("read frame: %v", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c.r, b); err != nil {
		t.Fatalf("read frame: %v", err)
	}
	return b
}

// reply reads a frame and gives its header and a reader of its body.
func (c *raw) reply(t testing.TB) (xid int32, code proto.Code, body *proto.Reader) {
	t.Helper()
	r := proto.NewReader(c.frame(t))
	xid = r.Int32()
	r.Int64()
	return xid, proto.Code(r.Int32()), r
}

func (c *raw) header(b []byte, op proto.Op) ([]byte, int) {
	c.xid++
	b, at := proto.StartFrame(b)
	return proto.AppendInt32(proto.AppendInt32(b, c.xid), int32(op)), at
}

var openACL = []proto.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

func appendCreate(b []byte, path string, data []byte, flags int32) []byte {
	b = proto.AppendBuffer(proto.AppendString(b, path), data)
	return proto.AppendInt32(proto.AppendACLs(b, openACL), flags)
}

func appendSet(b []byte, path string, data []byte, version int32) []byte {
	return proto.AppendInt32(proto.AppendBuffer(proto.AppendString(b, path), data), version)
}

func (c *raw) create(t testing.TB, path string, data []byte) {
	t.Helper()
	b, at := c.header(nil, proto.OpCreate)
	b = proto.FinishFrame(appendCreate(b, path, data, 0), at)
	if _, err := c.nc.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, code, _ := c.reply(t); code != proto.OK {
		t.Fatalf("create %s: %v", path, code)
	}
}

// BenchmarkFencedMulti is Kafka's write: check /controller_epoch, set one
// partition's state; 10 or 1,000 in flight on one session.
func BenchmarkFencedMulti(b *testing.B) {
	for _, sync := range []bool{false, true} {
		for _, window := range []int{10, 1000} {
			b.Run(fmt.Sprintf("fsync=%v/inflight=%d", sync, window), func(b *testing.B) {
				s := start(b, zkserver.Config{NoSync: !sync, TickTime: 2 * time.Second})
				benchMulti(b, connectRaw(b, s.Addr().String(), 0, nil, 30*time.Second), window)
			})
		}
	}
}

const partitions = 1000

func benchMulti(b *testing.B, c *raw, window int) {
	c.create(b, "/controller_epoch", []byte("1"))
	state := []byte(`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`)
	reqs := make([][]byte, partitions)
	for i := range reqs {
		path := fmt.Sprintf("/p%d", i)
		c.create(b, path, state)
		f, at := c.header(nil, proto.OpMulti)
		f = proto.AppendInt32(proto.AppendString(proto.AppendMultiHeader(f, proto.OpCheck, false, 0), "/controller_epoch"), 0)
		f = appendSet(proto.AppendMultiHeader(f, proto.OpSetData, false, 0), path, state, -1)
		reqs[i] = proto.FinishFrame(proto.AppendMultiHeader(f, proto.OpError, true, 0), at)
	}
	_ = c.nc.SetDeadline(time.Now().Add(5 * time.Minute))
	b.ReportAllocs()
	tokens := make(chan struct{}, window)
	go func() {
		w := bufio.NewWriterSize(c.nc, 64<<10)
		for i := 0; i < b.N; i++ {
			select {
			case tokens <- struct{}{}:
			default:
				_ = w.Flush()
				tokens <- struct{}{}
			}
			_, _ = w.Write(reqs[i%partitions])
		}
		_ = w.Flush()
	}()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if _, code, _ := c.reply(b); code != proto.OK {
			b.Fatal(code)
		}
		<-tokens
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "multis/s")
}

package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"kbench/internal/zkserver/proto"
)

// pipelined: hundreds of requests in flight on one session are answered in
// order, and each read sees the writes before it.
func pipelined(t *testing.T, s Store) {
	r := root(t, client(t, s))
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	var b []byte
	var xids []int32
	const n = 400
	add := func(op proto.Op, body func([]byte) []byte) {
		var xid int32
		b, xid = raw.Append(b, op, body)
		xids = append(xids, xid)
	}
	for i := range n {
		path := fmt.Sprintf("%s/%d", r, i)
		add(proto.OpCreate, Create(path, fmt.Appendf(nil, "%d", i), 0))
		add(proto.OpGetData, PathWatch(path, false))
		add(proto.OpCreate, Create(path, nil, 0)) // fails
		add(proto.OpMulti, Multi(Sub{proto.OpSetData, SetData(path, []byte("m"), 0)}))
		add(proto.OpExists, PathWatch(path, false))
	}
	go func() { _, _ = raw.nc.Write(b) }()
	last := int64(0)
	for i, xid := range xids {
		m := raw.Next(t)
		if m.Xid != xid || m.Zxid < last {
			t.Fatalf("reply %d: xid %d, want %d; zxid %d after %d", i, m.Xid, xid, m.Zxid, last)
		}
		last = m.Zxid
		switch i % 5 {
		case 1:
			if got := string(m.Body.Buffer()); got != fmt.Sprint(i/5) {
				t.Fatalf("read %q after writing %d", got, i/5)
			}
		case 2:
			if m.Code != proto.NodeExists {
				t.Fatalf("second create: %v", m.Code)
			}
		case 4:
			if st := ReadStat(m.Body); st.Version != 1 {
				t.Fatalf("version %d after a multi", st.Version)
			}
		}
	}
}

// largeChildren: a list far over jute.maxbuffer, which bounds requests only.
func largeChildren(t *testing.T, s Store) {
	r := root(t, client(t, s))
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	const n, perMulti = 30_000, 1000
	pad := strings.Repeat("x", 60)
	for i := 0; i < n; i += perMulti {
		subs := make([]Sub, perMulti)
		for j := range subs {
			subs[j] = Sub{proto.OpCreate, Create(fmt.Sprintf("%s/%s%d", r, pad, i+j), nil, 0)}
		}
		if m := raw.Do(t, proto.OpMulti, Multi(subs...)); m.Code != proto.OK {
			t.Fatal(m.Code)
		}
	}
	m := raw.Do(t, proto.OpGetChildren2, PathWatch(r, true))
	names := map[string]bool{}
	for _, name := range m.Body.Strings() {
		names[name] = true
	}
	if st := ReadStat(m.Body); len(names) != n || st.NumChildren != n || st.Cversion != n || !names[pad+"17"] {
		t.Errorf("%d names, stat %+v", len(names), st)
	}
}

// largestRequest: just under jute.maxbuffer is taken; over it the connection
// ends and the session lives on.
func largestRequest(t *testing.T, s Store) {
	r := root(t, client(t, s))
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	fits := make([]byte, proto.DefaultMaxBuffer-200-len(r))
	if m := raw.Do(t, proto.OpCreate, Create(r+"/a", fits, 0)); m.Code != proto.OK {
		t.Fatal(m.Code)
	}
	m := raw.Do(t, proto.OpGetData, PathWatch(r+"/a", false))
	if got := m.Body.Buffer(); !bytes.Equal(got, fits) {
		t.Errorf("read %d bytes, wrote %d", len(got), len(fits))
	}
	b, _ := raw.Append(nil, proto.OpSetData, SetData(r+"/a", make([]byte, proto.DefaultMaxBuffer+1), -1))
	_, _ = raw.nc.Write(b) // the server may hang up in the middle of it
	if _, err := raw.TryNext(); err == nil {
		t.Error("a request over jute.maxbuffer was answered")
	}
	again, ok := raw.Reattach(t, s.addr(), raw.Password)
	if !ok {
		t.Fatal("the session went with the connection")
	}
	if st := ReadStat(again.Do(t, proto.OpExists, PathWatch(r+"/a", false)).Body); st.Version != 0 {
		t.Errorf("the oversized write took place: %+v", st)
	}
}

// badInput: whatever comes, the server goes on serving others.
func badInput(t *testing.T, s Store) {
	good := client(t, s)
	r := root(t, good)
	frame := func(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	for name, b := range map[string][]byte{
		"negative length":    {0xff, 0xff, 0xff, 0xff},
		"huge length":        {0x7f, 0xff, 0xff, 0xff},
		"http":               []byte("GET / HTTP/1.1\r\n\r\n"),
		"empty connect":      frame(nil),
		"short connect":      frame([]byte{0, 0}),
		"connect, long pass": frame(append(make([]byte, 24), 0x7f, 0xff, 0xff, 0xff)),
		"nothing":            nil,
	} {
		c := DialRaw(t, s.addr())
		c.Write(t, b)
		if tcp, ok := c.nc.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_ = c.nc.SetReadDeadline(time.Now().Add(ioDeadline))
		if rest, err := io.ReadAll(c.nc); isTimeout(err) {
			t.Errorf("%s: the connection hangs after %q", name, rest)
		}
	}
	long := func(n int32) func([]byte) []byte {
		return func(b []byte) []byte { return proto.AppendInt32(b, n) }
	}
	for name, q := range map[string]Sub{
		"unknown operation":   {99, nil},
		"path cut off":        {proto.OpGetData, long(100)},
		"vector of billions":  {proto.OpSetWatches, func(b []byte) []byte { return proto.AppendInt32(proto.AppendInt64(b, 0), 1<<30) }},
		"multi without end":   {proto.OpMulti, Multi(Sub{proto.OpCheck, PathVersion(r, 0)})},
		"multi with getData":  {proto.OpMulti, Multi(Sub{proto.OpPing, func(b []byte) []byte { return b }})},
		"create without acls": {proto.OpCreate, func(b []byte) []byte { return proto.AppendString(b, r+"/x") }},
	} {
		c := ConnectRaw(t, s.addr(), 20*s.Tick)
		b, _ := c.Append(nil, q.Op, q.Body)
		if name == "multi without end" {
			b = b[:len(b)-9]
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		}
		c.Write(t, b)
		// An error or the connection's end, either is an answer.
		if m, err := c.TryNext(); err == nil && m.Code == proto.OK || isTimeout(err) {
			t.Errorf("%s: %+v %v", name, m, err)
		}
	}
	if !exists(t, good, r) {
		t.Error("the server no longer serves")
	}
	if exists(t, good, r+"/x") {
		t.Error("half a create was executed")
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

func fourLetters(t *testing.T, s Store) {
	for word, want := range map[string]string{"ruok": "imok", "srvr": "Zxid: 0x"} {
		nc, err := net.Dial("tcp", s.addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(time.Now().Add(ioDeadline))
		_, _ = io.WriteString(nc, word)
		got, err := io.ReadAll(nc)
		_ = nc.Close()
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %q %v", word, got, err)
		}
	}
}

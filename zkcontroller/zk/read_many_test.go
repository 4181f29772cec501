package zk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// readAll reads /t/0 to /t/n-1 and gives their results.
func readAll(t *testing.T, s *Session, n, size int) []Result {
	t.Helper()
	out := make([]Result, n)
	if err := s.ReadMany(t.Context(), n, size, numbered, func(i int, r Result) { out[i] = r }); err != nil {
		t.Fatal(err)
	}
	return out
}

// Many reads in one request give what one read of each gives.
func TestReadMany(t *testing.T) {
	m := newMerging(t, Config{MaxInFlight: 3})
	ctx := t.Context()
	const n, missing, watched = 23, 4, 11
	for i := range n {
		if i == missing {
			continue
		}
		if r := m.Do(ctx, Create(numbered(i), fmt.Appendf(nil, "%d", i))); r.Err != nil {
			t.Fatal(r.Err)
		}
		for v := range i % 3 {
			if r := m.Do(ctx, Set(numbered(i), fmt.Appendf(nil, "%d", i), int32(v))); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	for _, size := range []int{0, 1, 5, 100} {
		for i, r := range readAll(t, m.Session, n, size) {
			want := m.Do(ctx, Get(numbered(i)))
			if i == missing {
				if !errors.Is(r.Err, ErrNoNode) {
					t.Errorf("size %d: %d: %+v", size, i, r)
				}
				continue
			}
			if r.Err != nil || string(r.Data) != fmt.Sprint(i) || r.Version != want.Version || r.Czxid != want.Czxid || r.CtimeMs != want.CtimeMs || r.Owner != 0 {
				t.Errorf("size %d: %d: %+v, want %+v", size, i, r, want)
			}
		}
	}
	// A watch that is registered is armed.
	rec := newRecorder()
	w := connect(t, Config{OnEvent: rec.put})
	w.Watch(numbered(watched))
	readAll(t, w, n, 100)
	if r := m.Do(ctx, Set(numbered(watched), nil, AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	rec.want(t, Event{Kind: NodeDataChanged, Path: numbered(watched)})
}

// A server that knows how is asked once for many; where the connection breaks,
// it is asked again.
func TestReadManyAsksOnce(t *testing.T) {
	c := &cable{}
	m := newMerging(t, Config{MaxInFlight: 2, Dial: c.dial})
	for i := range 40 {
		if r := m.Do(t.Context(), Create(numbered(i), nil)); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	readAll(t, m.Session, 2, 2)
	if m.readsSingly.Load() {
		t.Skip("SKIPPED: this server reads one znode at a time; KBENCH_TEST_ZOOKEEPER names another")
	}
	before, _ := m.Requests()
	readAll(t, m.Session, 40, 10)
	if after, _ := m.Requests(); after-before != 4 {
		t.Errorf("%d requests for 40 reads, want 4", after-before)
	}
	c.loseReplies()
	for i, r := range readAll(t, m.Session, 40, 10) {
		if r.Err != nil {
			t.Errorf("%d: %v", i, r.Err)
		}
	}
}

// Replies to requests aside never reach the library, whose own stay whole, in
// whatever pieces they come.
func TestWireSortsReplies(t *testing.T) {
	near, far := net.Pipe()
	w := newWire(near)
	defer w.Close()
	packet := func(xid int32, body string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		return append(binary.BigEndian.AppendUint32(b, uint32(xid)), body...)
	}
	pad := func(s string) string { return s + "0123456789abcdef" }
	got := make(chan string, 1)
	go func() {
		reply, err := w.request(opMultiRead, []byte("paths"))
		got <- fmt.Sprint(string(reply), err)
	}()
	head := make([]byte, 12+len("paths"))
	if _, err := far.Read(head); err != nil {
		t.Fatal(err)
	}
	xid := int32(binary.BigEndian.Uint32(head[4:]))
	if xid > asideXid || string(head[12:]) != "paths" || binary.BigEndian.Uint32(head) != uint32(len(head)-4) {
		t.Fatalf("sent %x", head)
	}
	stream := append(packet(7, pad("first")), packet(xid, pad("aside"))...)
	stream = append(append(stream, packet(xid-1, pad("nobody's"))...), packet(-1, pad("event"))...)
	var sent atomic.Bool
	go func() {
		for _, b := range stream {
			if _, err := far.Write([]byte{b}); err != nil {
				return
			}
		}
		sent.Store(true)
	}()
	want := append(packet(7, pad("first")), packet(-1, pad("event"))...)
	var read []byte
	for buf := make([]byte, 3); len(read) < len(want); {
		n, err := w.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, buf[:n]...)
	}
	if string(read) != string(want) {
		t.Errorf("the library got %q", read)
	}
	if g := <-got; g != pad("aside")+"<nil>" {
		t.Errorf("the other got %q", g)
	}
	for end := time.Now().Add(patience); !sent.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not everything was read")
		}
	}
	// Nobody waits for ever on a connection that is gone.
	go func() {
		_, err := w.request(opMultiRead, nil)
		got <- fmt.Sprint(errors.Is(err, errCut))
	}()
	if _, err := far.Read(make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	far.Close()
	if _, err := w.Read(make([]byte, 1)); err == nil {
		t.Error("read from a connection that is gone")
	}
	if g := <-got; g != "true" {
		t.Errorf("errCut: %s", g)
	}
	if _, err := w.request(opMultiRead, nil); !errors.Is(err, errCut) {
		t.Errorf("a request on it: %v", err)
	}
}

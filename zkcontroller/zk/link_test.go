package zk

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// aReply is a packet of five bytes, which answers request 1.
var aReply = []byte{0, 0, 0, 5, 0, 0, 0, 1, 'x'}

// After a reconnect no reply may be read before the watches are sent again:
// the library re-arms them with the zxid of the last reply it has read.
func TestRepliesWaitForWatches(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := newWire(near)
	w.begin(true)
	go io.Copy(io.Discard, far)
	go far.Write(aReply)
	read := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 5))
		read <- err
	}()
	packet := func(opcode uint32) []byte { return binary.BigEndian.AppendUint32(make([]byte, 8), opcode) }
	if _, err := w.Write(packet(4)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-read:
		t.Fatalf("a reply was read before the watches were sent: %v", err)
	default:
	}
	if w.Write(packet(opSetWatches)); <-read != nil {
		t.Fatal("the reply did not come after the watches")
	}
}

// A reader that is held back is freed by Close, and by time.
func TestHeldReaderIsFreed(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := newWire(near)
	w.begin(true)
	read := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 5))
		read <- err
	}()
	w.Close()
	if <-read == nil {
		t.Error("read from a closed connection")
	}
	near, far = net.Pipe()
	defer near.Close()
	w = newWire(near)
	start := time.Now()
	w.begin(true)
	go far.Write(aReply)
	if _, err := w.Read(make([]byte, 5)); err != nil || time.Since(start) < rearmWait/2 {
		t.Errorf("read after %v, %v", time.Since(start), err)
	}
}

// What a reader is held back for does not count for its deadline: a session of
// less than that would lose every connection to it.
func TestHeldReaderKeepsItsDeadline(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	w := newWire(near)
	w.begin(true)
	if err := w.SetReadDeadline(time.Now().Add(rearmWait * 9 / 10)); err != nil {
		t.Fatal(err)
	}
	go far.Write(aReply)
	if _, err := w.Read(make([]byte, 5)); err != nil {
		t.Error(err)
	}
}

// A dead session makes the library stop and look, and dials no more.
func TestDeadLinkDialsNoMore(t *testing.T) {
	dead := make(chan struct{})
	cfg := Config{Servers: []string{"a:1", "b:1"}}
	if err := cfg.setDefaults(); err != nil {
		t.Fatal(err)
	}
	l := newLink(&cfg, dead)
	l.Init([]string{"a:1", "b:1"})
	if a, stop := l.Next(); stop || a != "a:1" {
		t.Error(a, stop)
	}
	l.Connected()
	if a, stop := l.Next(); stop || a != "a:1" {
		t.Errorf("after a loss %s is tried first", a)
	}
	if b, stop := l.Next(); stop || b != "b:1" {
		t.Error(b, stop)
	}
	close(dead)
	if _, stop := l.Next(); !stop {
		t.Error("a dead session goes on connecting")
	}
	if _, err := l.dial("tcp", "a:1", time.Second); !errors.Is(err, ErrExpired) {
		t.Error(err)
	}
}

package interop

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// gate is the way of the real brokers to ZooKeeper. While it is shut, what
// either side sends waits; nothing is lost and no connection ends. That has a
// candidate of kbench hear first that /controller is gone.
type gate struct {
	ln     net.Listener
	target string

	mu     sync.Mutex
	open   chan struct{} // closed while the gate is open
	reopen func()
	conns  map[net.Conn]bool
	wg     sync.WaitGroup
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{ln: ln, target: target, conns: map[net.Conn]bool{}}
	g.shut()()
	g.wg.Add(1)
	go g.accept()
	t.Cleanup(g.close)
	return g
}

func (g *gate) addr() string { return g.ln.Addr().String() }

func (g *gate) accept() {
	defer g.wg.Done()
	for {
		in, err := g.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", g.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		g.mu.Lock()
		g.conns[in], g.conns[out] = true, true
		g.wg.Add(2)
		g.mu.Unlock()
		go g.pipe(in, out)
		go g.pipe(out, in)
	}
}

// pipe copies until either end closes, and closes both.
func (g *gate) pipe(from, to net.Conn) {
	defer g.wg.Done()
	defer func() {
		_, _ = from.Close(), to.Close()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.conns, from)
		delete(g.conns, to)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			g.mu.Lock()
			open := g.open
			g.mu.Unlock()
			<-open
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// shut holds everything back until the function that it gives is called, which
// may be called again.
func (g *gate) shut() (reopen func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.open, g.reopen = shut, sync.OnceFunc(func() { close(shut) })
	return g.reopen
}

func (g *gate) close() {
	_ = g.ln.Close()
	g.mu.Lock()
	g.reopen()
	for c := range g.conns {
		_ = c.Close()
	}
	g.mu.Unlock()
	g.wg.Wait()
}

func TestGateHoldsBack(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	g := newGate(t, ln.Addr().String())
	client, err := net.Dial("tcp", g.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	reopen := g.shut()
	if _, err := client.Write([]byte("held")); err != nil {
		t.Fatal(err)
	}
	var got [4]byte
	if err := server.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if n, err := server.Read(got[:]); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("%d bytes came through a gate that is shut: %v", n, err)
	}
	if err := server.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	reopen()
	reopen()
	if _, err := io.ReadFull(server, got[:]); err != nil || string(got[:]) != "held" {
		t.Fatalf("%q, %v", got, err)
	}
	_ = server.Close()
	if _, err := client.Read(got[:]); !errors.Is(err, io.EOF) {
		t.Errorf("an end is not passed on: %v", err)
	}
}

package heldport

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

func hold(t *testing.T) uint16 {
	t.Helper()
	p, err := Hold("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Release(); err != nil {
			t.Error(err)
		}
	})
	return p.Number
}

// Servers come and go on a held port, and while there is none connections are
// refused: none of the many that try becomes the port's owner.
func TestServersComeAndGo(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", hold(t))
	for round := range 3 {
		for range 2000 {
			c, err := net.Dial("tcp", addr)
			if err == nil {
				_ = c.Close()
				t.Fatalf("round %d: a connection from %v to a port without a server", round, c.LocalAddr())
			}
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		// The server closes first, so that its port stays in TIME_WAIT.
		served, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(served.Close(), c.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// The kernel gives a held port to nobody who asks for any.
func TestNobodyIsGivenAHeldPort(t *testing.T) {
	held := map[uint16]bool{}
	for range 200 {
		port := hold(t)
		if held[port] {
			t.Fatalf("port %d is held twice", port)
		}
		held[port] = true
	}
	for range 2000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if port := uint16(l.Addr().(*net.TCPAddr).Port); held[port] {
			t.Fatalf("somebody else was given port %d", port)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHoldNeedsAnAddressOfThisMachine(t *testing.T) {
	for _, host := range []string{"", "localhost", "::1", "192.0.2.1"} {
		if p, err := Hold(host); err == nil {
			t.Errorf("port %d of %q is held", p.Number, host)
		}
	}
}

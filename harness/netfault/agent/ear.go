package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// ear is where an agent hears what others send: datagrams, which it counts, and
// connections, whose bytes it takes and drops. Both have one port.
type ear struct {
	here netip.AddrPort
	udp  *net.UDPConn
	tcp  *net.TCPListener
	done sync.WaitGroup

	mu     sync.Mutex
	tokens map[string]int
}

// MaxToken bounds the bytes of a token.
const MaxToken = 64

const (
	maxTokens = 10_000 // that are counted at once
	// sendAtOnce datagrams are sent each sendEvery, so that none is lost to a full
	// queue: one holds hundreds of them.
	sendAtOnce = 10
	sendEvery  = 2 * time.Millisecond
)

// listen opens an ear on the address that others know this namespace by.
// ctx ends the connections that it takes.
func listen(ctx context.Context) (*ear, error) {
	addr, err := ownAddress()
	if err != nil {
		return nil, err
	}
	tcp, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
	if err != nil {
		return nil, err
	}
	here := tcp.Addr().(*net.TCPAddr).AddrPort()
	udp, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(here))
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	e := &ear{here: here, udp: udp, tcp: tcp, tokens: map[string]int{}}
	e.done.Go(e.count)
	e.done.Go(func() { e.take(ctx) })
	return e, nil
}

func ownAddress() (netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("list the addresses: %w", err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, errors.New("no IPv4 address but the loopback's: run it in the network namespace of a node")
}

func (e *ear) count() {
	buf := make([]byte, MaxToken)
	for {
		n, _, err := e.udp.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		e.mu.Lock()
		if _, known := e.tokens[string(buf[:n])]; known || len(e.tokens) < maxTokens {
			e.tokens[string(buf[:n])]++
		}
		e.mu.Unlock()
	}
}

func (e *ear) take(ctx context.Context) {
	for {
		c, err := e.tcp.Accept()
		if err != nil {
			return
		}
		e.done.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		})
	}
}

func (e *ear) heard(token string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tokens[token]
}

// send sends count datagrams of token. One that this namespace's own rules drop
// is lost like any other.
func (e *ear) send(ctx context.Context, to netip.AddrPort, token string, count int) error {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for i := range count {
		if _, err := e.udp.WriteToUDPAddrPort([]byte(token), to); err != nil && !errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("send to %v: %w", to, err)
		}
		if (i+1)%sendAtOnce != 0 {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// close ends the ear; its context must have ended.
func (e *ear) close() error {
	err := errors.Join(e.udp.Close(), e.tcp.Close())
	e.done.Wait()
	return err
}

// push connects, sends size bytes and waits until the other side has them all
// and closes. It gives how long that took; with no bytes, the connecting alone.
func push(ctx context.Context, to netip.AddrPort, size int64) (time.Duration, error) {
	start := time.Now()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	if size == 0 {
		return time.Since(start), nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	if _, err := io.CopyN(c, zeros{}, size); err != nil {
		return 0, err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, c)
	return time.Since(start), err
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

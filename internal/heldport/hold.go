package heldport

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Port is one that nobody is given while it is held.
type Port struct {
	Number uint16
	fd     int
}

// Hold takes a free port of an IPv4 address of this machine, until Release or the
// end of this process; its children do not hold it.
func Hold(host string) (*Port, error) {
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is4() {
		return nil, fmt.Errorf("hold a port: %q is no IPv4 address", host)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("hold a port of %s: %w", host, err)
	}
	number, err := bind(fd, addr)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("hold a port of %s: %w", host, err)
	}
	return &Port{number, fd}, nil
}

// bind gives a socket a port that nobody has. With SO_REUSEADDR before, that
// could be one that others have bound already; servers need it on both sockets.
func bind(fd int, addr netip.Addr) (uint16, error) {
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: addr.As4()}); err != nil {
		return 0, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return uint16(name.(*unix.SockaddrInet4).Port), nil
}

// Release gives the port back. A server that listens on it goes on.
func (p *Port) Release() error { return unix.Close(p.fd) }

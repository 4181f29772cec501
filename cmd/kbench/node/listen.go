package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"syscall"
)

// ListenError is the error of a node that cannot have an address it is to listen at.
type ListenError struct{ err error }

func (e *ListenError) Error() string { return e.err.Error() }

// Unwrap gives the fault.
func (e *ListenError) Unwrap() error { return e.err }

func listen(host string, port uint16) (net.Listener, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		return nil, asListenError(err)
	}
	return ln, nil
}

// asListenError makes an error of net.Listen a ListenError with its cure; others
// stay as they are.
func asListenError(err error) error {
	if op := (*net.OpError)(nil); !errors.As(err, &op) || op.Op != "listen" {
		return err
	}
	cure := "give an address that this machine can listen at"
	switch dns := (*net.DNSError)(nil); {
	case errors.Is(err, syscall.EADDRINUSE):
		cure = "end what listens there or give another port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		cure = "no interface of this machine has that address; give one that it has, such as 127.0.0.1"
	case errors.Is(err, fs.ErrPermission):
		cure = "give a port above 1023, or let the process have this one (CAP_NET_BIND_SERVICE)"
	case errors.As(err, &dns):
		cure = "give a name that this machine can resolve, or an address of it"
	}
	return &ListenError{fmt.Errorf("%w; %s", err, cure)}
}

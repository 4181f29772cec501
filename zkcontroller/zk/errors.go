package zk

import (
	"errors"
	"fmt"
	"io"
	"net"

	gozk "github.com/go-zookeeper/zk"
)

// The outcomes that callers branch on.
var (
	ErrNoNode     = gozk.ErrNoNode
	ErrNodeExists = gozk.ErrNodeExists
	ErrBadVersion = gozk.ErrBadVersion
	ErrNotEmpty   = gozk.ErrNotEmpty
	ErrNoAuth     = gozk.ErrNoAuth
	ErrExpired    = errors.New("zk: the session has expired")
	ErrClosed     = errors.New("zk: the session is closed")
	ErrAuthFailed = errors.New("zk: ZooKeeper refuses the login")
	ErrFenced     = errors.New("zk: another controller has written " + ControllerEpochPath)
)

// TooLargeError reports a request that the server would refuse by closing the
// connection.
type TooLargeError struct {
	Path        string
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("zk: writing %s takes a request of %d bytes, over the limit of %d: "+
		"raise jute.maxbuffer on the servers and MaxRequestBytes here, or write less", e.Path, e.Size, e.Limit)
}

// OwnedError reports that a broker's id is registered by another session.
type OwnedError struct {
	Path  string
	Owner int64 // session id of the owner
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("zk: %s is held by session 0x%x: another broker has this id, or an earlier "+
		"run of this one has not yet expired", e.Path, uint64(e.Owner))
}

// Unwrap lets errors.Is find ErrNodeExists.
func (e *OwnedError) Unwrap() error { return ErrNodeExists }

// lost reports whether err leaves the outcome of a request unknown.
func lost(err error) bool {
	if err == nil {
		return false
	}
	for _, e := range []error{
		gozk.ErrConnectionClosed, gozk.ErrNoServer, gozk.ErrSessionExpired, gozk.ErrSessionMoved,
		gozk.ErrClosing, io.EOF, io.ErrClosedPipe, net.ErrClosed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var ne net.Error // a failed write to the socket: part of it may have left
	return errors.As(err, &ne)
}

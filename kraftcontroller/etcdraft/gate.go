package etcdraft

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"kbench/kafka/access"
)

// Gate is who comes in as a voter. Its zero value takes everybody who says so.
type Gate struct {
	// TLS has voters show certificates, and must want them; nil leaves their
	// connections plain.
	TLS *tls.Config
	// Admit judges a voter by its certificate; nil admits all.
	Admit func(principal string, from net.Addr) bool
}

// open gives the connection of a voter that may come in. nc has a deadline.
func (g Gate) open(nc net.Conn) (net.Conn, error) {
	principal := access.Anonymous
	if g.TLS != nil {
		tc := tls.Server(nc, g.TLS)
		if err := tc.Handshake(); err != nil {
			if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
				return nil, fmt.Errorf("TLS handshake: %w; the voter speaks without TLS, which this listener wants", err)
			}
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		chains := tc.ConnectionState().VerifiedChains
		if len(chains) == 0 {
			return nil, errors.New("it shows no certificate")
		}
		principal, nc = "User:"+chains[0][0].Subject.String(), tc
	}
	if g.Admit != nil && !g.Admit(principal, nc.RemoteAddr()) {
		return nil, fmt.Errorf("%s may not speak as a voter: allow it CLUSTER_ACTION, or name it among the super users", principal)
	}
	return nc, nil
}

// refusalPace bounds the lines about voters that are not let in: each comes again
// and again.
const refusalPace = time.Second

func (l *listener) refuse(from net.Addr, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return
	default:
	}
	if now := time.Now(); now.Sub(l.refused) >= refusalPace {
		l.refused = now
		l.transport.parts.Logger.Warn("voter refused", "remote", from, "reason", why)
	}
}

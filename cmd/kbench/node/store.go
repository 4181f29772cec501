package node

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"

	"kbench/internal/nodeconfig"
	"kbench/internal/zkserver"
)

// storePart is the embedded ZooKeeper server.
type storePart struct{ server *zkserver.Server }

func (p *process) newStore() (part, error) {
	z := p.cfg.ZKServer
	encrypted, err := storeTLS(z.TLS)
	if err != nil {
		return nil, err
	}
	server, err := zkserver.New(zkserver.Config{
		TLS:      encrypted,
		Listen:   net.JoinHostPort(z.Host, strconv.Itoa(int(z.Port))),
		DataDir:  p.cfg.DataDir,
		FS:       p.txnlogFS(),
		TickTime: z.TickTime.D(),
		Logger:   p.log,
	})
	if err != nil {
		return nil, asListenError(err)
	}
	return &storePart{server: server}, nil
}

// storeTLS is nil for a plain server. With a CA a client may show a certificate.
func storeTLS(t *nodeconfig.TLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	k, err := loadKeys("zkServer.tls", *t)
	if err != nil {
		return nil, &ConfigError{err}
	}
	if k.ca == nil {
		return k.server("none"), nil
	}
	return k.server("requested"), nil
}

func (s *storePart) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.server.Close() })()
	err := s.server.Serve()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *storePart) shutdown(context.Context) error { return s.server.Close() }

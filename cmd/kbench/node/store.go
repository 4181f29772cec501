package node

import (
	"context"
	"errors"
	"net"
	"strconv"

	"kbench/internal/zkserver"
)

// storePart is the embedded ZooKeeper server.
type storePart struct{ server *zkserver.Server }

func (p *process) newStore() (part, error) {
	z := p.cfg.ZKServer
	server, err := zkserver.New(zkserver.Config{
		Listen:   net.JoinHostPort(z.Host, strconv.Itoa(int(z.Port))),
		DataDir:  p.cfg.DataDir,
		TickTime: z.TickTime.D(),
		Logger:   p.log,
	})
	if err != nil {
		return nil, err
	}
	return &storePart{server: server}, nil
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

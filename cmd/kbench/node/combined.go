package node

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// combinedPart is a broker that is a voter too, Kafka's combined mode.
type combinedPart struct{ controller, brokers part }

func (p *process) newCombined() (part, error) {
	c, err := p.newController()
	if err != nil {
		return nil, err
	}
	b, err := p.newBrokers()
	if err != nil {
		held := c.(*controllerPart)
		return nil, errors.Join(err, held.server.ln.Close(), held.controller.Close())
	}
	return &combinedPart{controller: c, brokers: b}, nil
}

func (c *combinedPart) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.controller.run(ctx) })
	g.Go(func() error { return c.brokers.run(ctx) })
	return g.Wait()
}

// shutdown stops the broker first: it needs a controller to let it go.
func (c *combinedPart) shutdown(ctx context.Context) error {
	return errors.Join(c.brokers.shutdown(ctx), c.controller.shutdown(ctx))
}

package kraftcontroller

import (
	"kbench/kafka"
	"kbench/kafka/guard"
	"kbench/kafka/metadata"
)

// newGuard makes what stands before the APIs, and before the requests inside
// envelopes: the authorizer over the committed metadata. Until there is any only
// super users are let in, without whom no quorum could begin.
func (c *Controller) newGuard() guard.Guard {
	image := func() *metadata.Image { return c.View().Image }
	g := guard.OverImage(c.cfg.Authorizer, image, func() bool { return image().Offset() != kafka.NoOffset })
	g.Controller = true
	return g
}

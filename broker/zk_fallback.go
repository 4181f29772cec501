package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/refusal"
	"kbench/kafka/wire"
)

// fallbacks answer what only the controller serves, for a broker that is no
// candidate: clients ask Metadata for the controller and go there.
func (p *zkPlane) fallbacks() []wire.API {
	handle := func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
		return refusal.Of(r.Body, kafka.NotController, "this is not the controller of the cluster"), nil
	}
	var apis []wire.API
	for _, a := range []struct{ key, lowest, highest int16 }{
		{7, 0, 3}, {19, 0, 7}, {20, 0, 6}, {37, 0, 3}, {43, 0, 2}, {45, 0, 0}, {46, 0, 0}, {56, 0, 3}, {57, 0, 1}, {67, 0, 0},
	} {
		apis = append(apis, wire.API{Key: a.key, MinVersion: a.lowest, MaxVersion: a.highest, Handle: handle})
	}
	return apis
}

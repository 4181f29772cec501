package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// read decodes a znode's JSON; that there is none is errAbsent.
func (r *rig) read(path string, into any) error {
	b, _, err := r.znodes.Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%s: %w", path, errAbsent)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return json.Unmarshal(b, into)
}

// controller is who holds /controller.
func (r *rig) controller() (broker, error) {
	var z struct {
		ID broker `json:"brokerid"`
	}
	err := r.read("/controller", &z)
	return z.ID, err
}

func (r *rig) awaitController(t *testing.T, among ...broker) broker {
	t.Helper()
	var got broker
	eventually(t, fmt.Sprintf("a controller among %d", among), func(context.Context) error {
		var err error
		if got, err = r.controller(); err == nil && !slices.Contains(among, got) {
			err = fmt.Errorf("it is %d", got)
		}
		return err
	})
	return got
}

// awaitObeyed waits until brokers name the controller: they have taken an
// UpdateMetadata of it, and have clients send it what is for a controller. One
// that was deposed and does not know yet would still create topics, which is
// not fenced in Kafka.
func (r *rig) awaitObeyed(t *testing.T, by []broker, controller broker) {
	t.Helper()
	for _, id := range by {
		cl := r.asked(t, id)
		eventually(t, fmt.Sprintf("broker %d obeys controller %d", id, controller), func(ctx context.Context) error {
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{} // none
			reply, err := cl.SeedBrokers()[0].Request(ctx, req)
			if err != nil {
				return err
			}
			if got := broker(reply.(*kmsg.MetadataResponse).ControllerID); got != controller {
				return fmt.Errorf("it names %d", got)
			}
			return nil
		})
	}
}

// znode gives errAbsent where a broker has no registration in ZooKeeper.
func (r *rig) znode(_ context.Context, id broker) error {
	return r.read(fmt.Sprintf("/brokers/ids/%d", id), &struct{}{})
}

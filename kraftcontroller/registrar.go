package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raft"
)

// The waits of Kafka's ControllerRegistrationManager after a failure.
const (
	registrationBackoff    = 100 * time.Millisecond
	registrationBackoffMax = 120 * time.Second
	registrationTimeout    = 5 * time.Second // of one try
)

// registrar registers this controller with the active one (KIP-919), so that
// features are raised only to what every controller knows.
type registrar struct {
	c           *Controller
	incarnation kafka.UUID
	wake        chan struct{} // the committed metadata is without this incarnation
}

func newRegistrar(c *Controller) *registrar {
	r := &registrar{c: c, wake: make(chan struct{}, 1)}
	rng := rand.New(rand.NewPCG(c.cfg.Raft.Seed, ^uint64(c.cfg.Raft.NodeID)))
	for i := range r.incarnation {
		r.incarnation[i] = byte(rng.Uint32())
	}
	return r
}

// due reports whether the metadata has controllers and not this one.
func (r *registrar) due(image *metadata.Image) bool {
	if metadata.MetadataVersion(image.FeatureLevel(metadata.MetadataVersionFeature)) < metadata.V3_7_IV0 {
		return false
	}
	known, ok := image.Controller(r.c.cfg.Raft.NodeID)
	return !ok || known.Incarnation != r.incarnation
}

// look is called by the loop when it has published a view.
func (r *registrar) look(image *metadata.Image) {
	if !r.due(image) {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run registers whenever it is due, until ctx ends. That it succeeded is seen in
// the committed metadata.
func (r *registrar) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for backoff := registrationBackoff; r.due(r.c.View().Image); backoff = min(2*backoff, registrationBackoffMax) {
			if err := r.register(ctx); err != nil {
				r.c.log.Info("controller not registered", "reason", err, "again", backoff)
			}
			t := time.NewTimer(backoff)
			select {
			case <-ctx.Done():
				t.Stop()
				return
			case <-t.C:
			}
		}
	}
}

func (r *registrar) register(ctx context.Context) error {
	leader := r.c.client.Leader().Leader
	if leader == kafka.NoLeader {
		return fmt.Errorf("the quorum has no leader: %w", kafka.LeaderNotAvailable)
	}
	ctx, cancel := context.WithTimeout(ctx, registrationTimeout)
	defer cancel()
	resp, err := r.send(ctx, leader, r.request())
	if err != nil {
		return fmt.Errorf("controller %d: %w", leader, err)
	}
	if err := kafka.ErrorCode(resp.(*kmsg.ControllerRegistrationResponse).ErrorCode).Err(); err != nil {
		return fmt.Errorf("controller %d: %w", leader, err)
	}
	return nil
}

func (r *registrar) send(ctx context.Context, leader kafka.BrokerID, req kmsg.Request) (kmsg.Response, error) {
	if leader == r.c.cfg.Raft.NodeID {
		a, err := r.c.ask(ctx, &wire.Request{Body: req})
		if err == nil && a.body == nil {
			err = context.Cause(ctx)
		}
		return a.body, err
	}
	e, ok := r.c.client.Endpoint(leader)
	if !ok {
		return nil, errors.New("nobody has told yet where it listens")
	}
	conn, err := wire.Dial(ctx, e.Addr(), wire.DialOptions{Dial: r.c.cfg.Raft.Dial}.With(r.c.cfg.Raft.Identity))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Request(ctx, req)
}

func (r *registrar) request() kmsg.Request {
	req := kmsg.NewPtrControllerRegistrationRequest()
	req.ControllerID, req.IncarnationID = int32(r.c.cfg.Raft.NodeID), r.incarnation
	for _, e := range r.c.client.Endpoints() {
		l := kmsg.NewControllerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = e.Listener, e.Host, e.Port, int16(r.c.cfg.Raft.Protocol)
		req.Listeners = append(req.Listeners, l)
	}
	supported := metadata.SupportedFeatures()
	for _, name := range metadata.FeatureNames() {
		f := kmsg.NewControllerRegistrationRequestFeature()
		f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = name, supported[name].Min, supported[name].Max
		req.Features = append(req.Features, f)
	}
	k := kmsg.NewControllerRegistrationRequestFeature()
	k.Name, k.MinSupportedVersion, k.MaxSupportedVersion = metadata.KRaftVersionFeature, raft.SupportedKRaft.Min, raft.SupportedKRaft.Max
	req.Features = append(req.Features, k)
	return req
}

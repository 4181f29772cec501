package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// The waits of Kafka's BrokerLifecycleManager that are not configuration.
const (
	startingHeartbeat = 10 * time.Millisecond  // between heartbeats until the broker is unfenced
	leavingHeartbeat  = 50 * time.Millisecond  // once, after the first answer to a wish to leave
	lifecycleBackoff  = 100 * time.Millisecond // after a failure, doubled up to the heartbeat interval
)

// life is the state of the registration, owned by one goroutine:
//
//	unregistered -> starting   BrokerRegistration succeeded
//	starting     -> running    a heartbeat says caught up and not fenced
//	running      -> starting   a heartbeat says fenced
//	any          -> unregistered  STALE_BROKER_EPOCH: the controller knows another registration
//	any          -> unregistered  the metadata.version passes 3.7-IV2, whose registrations name
//	                              log directories; the broker stays unfenced meanwhile
//	any          -> left       a heartbeat says that the broker may shut down
type life struct {
	registered bool
	running    bool
	asked      bool // a heartbeat carried the wish to leave
	duplicate  bool // it was told that another broker holds the id
	failures   int
	deadline   time.Time // of the first registration; zero once it succeeded
}

// live registers the broker and sends heartbeats until it may leave or ctx
// ends.
func (p *kraftPlane) live(ctx context.Context) error {
	l := life{deadline: p.b.cfg.Now().Add(p.cfg.RegistrationTimeout)}
	leaving := p.leaving
	wait := time.Duration(0)
	moved := p.moved.next()
	for {
		if l.failures == 0 {
			moved = nil // nothing failed: a new controller hears at the usual time
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-moved: // another try may succeed now
		case <-leaving: // a wish to leave is sent at once
			leaving = nil
		case <-p.dirFailed: // and so is what was lost
		case <-p.refresh:
			l.registered = false
		case <-ctx.Done():
			t.Stop()
			return nil
		}
		t.Stop()
		moved = p.moved.next()
		var left bool
		var err error
		wait, left, err = p.step(ctx, &l)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if left {
			<-ctx.Done() // Shutdown ends Run
			return nil
		}
	}
}

// step makes one request and says when the next is due.
func (p *kraftPlane) step(ctx context.Context, l *life) (wait time.Duration, left bool, err error) {
	if l.registered {
		wait, left, err = p.heartbeat(ctx, l)
	} else {
		err = p.register(ctx)
		if err == nil {
			l.registered, l.failures, l.duplicate, l.deadline = true, 0, false, time.Time{}
			return 0, false, nil
		}
	}
	if err == nil {
		l.failures = 0
		return wait, left, nil
	}
	if fatal := p.hopeless(l, err); fatal != nil {
		return 0, false, fatal
	}
	l.failures++
	p.tellFailure(l, err)
	return min(lifecycleBackoff<<min(l.failures-1, 6), max(p.cfg.Heartbeat, lifecycleBackoff)), false, nil
}

// tellFailure logs a request that is made again. A duplicate id is told once
// loudly: mostly it is the broker's own last session, which ends by itself.
func (p *kraftPlane) tellFailure(l *life, err error) {
	if errors.Is(err, kafka.DuplicateBrokerRegistration) && !l.duplicate {
		l.duplicate = true
		p.b.log.Warn("another broker with this id is registered and alive: trying again until its session ends; if that is another process, end it or give this one another id",
			"id", int32(p.b.cfg.ID), "reason", err)
		return
	}
	p.b.log.Info("controller not reached", "registered", l.registered, "reason", err)
}

// hopeless gives the error with which the broker stops, where another try
// cannot help.
func (p *kraftPlane) hopeless(l *life, err error) error {
	if since, ok := p.b.dirs.untold(); ok && p.b.cfg.Now().Sub(since) > p.b.cfg.LogDirFailureTimeout {
		return fmt.Errorf("the controller could not be told within %v of a failed log directory: %w", p.b.cfg.LogDirFailureTimeout, err)
	}
	if l.registered {
		return nil
	}
	var code kafka.ErrorCode
	if errors.As(err, &code) {
		switch code {
		case kafka.InconsistentClusterID:
			return p.foreignQuorum(err)
		case kafka.InvalidRegistration, kafka.UnsupportedVersion:
			return fmt.Errorf("the controller refuses this broker for good: %w", err)
		}
	}
	if l.deadline.IsZero() || !p.b.cfg.Now().After(l.deadline) {
		return nil
	}
	if code == kafka.DuplicateBrokerRegistration {
		return fmt.Errorf("not registered within %v: %w: another broker with id %d is alive: end it, or give this one another id", p.cfg.RegistrationTimeout, err, p.b.cfg.ID)
	}
	return fmt.Errorf("not registered within %v: %w", p.cfg.RegistrationTimeout, err)
}

// foreignQuorum is the error of a broker that a controller takes for another
// cluster's.
func (p *kraftPlane) foreignQuorum(err error) error {
	id, addr, _ := p.controller()
	return fmt.Errorf("controller %d at %s is of another cluster than this broker, whose cluster id is %q: set the broker's cluster id to that of the quorum, or name the controllers of its own: %w", id, addr, p.b.cfg.ClusterID, err)
}

// supported are the features that a broker must say it supports: the
// controller wants each one that is finalized (real controllers finalize more
// than kbench's).
var supported = []kmsg.BrokerRegistrationRequestFeature{
	{Name: "eligible.leader.replicas.version", MaxSupportedVersion: 1},
	{Name: metadata.GroupVersionFeature, MaxSupportedVersion: 1},
	{Name: metadata.KRaftVersionFeature, MaxSupportedVersion: 1},
	{Name: metadata.MetadataVersionFeature, MinSupportedVersion: int16(metadata.V3_3_IV3), MaxSupportedVersion: 33},
	{Name: "share.version", MaxSupportedVersion: 2},
	{Name: "streams.version", MaxSupportedVersion: 1},
	{Name: metadata.TransactionVersionFeature, MaxSupportedVersion: 2},
}

func (p *kraftPlane) register(ctx context.Context) error {
	kresp, err := p.lifecycle.request(ctx, func(v wire.Versions) (kmsg.Request, error) {
		req := kmsg.NewPtrBrokerRegistrationRequest()
		req.BrokerID, req.ClusterID, req.IncarnationID = int32(p.b.cfg.ID), p.b.cfg.ClusterID, p.incarnation
		req.Features = supported
		req.LogDirs = p.logDirs()
		req.PreviousBrokerEpoch = int64(p.epoch())
		if p.b.cfg.Rack != "" {
			req.Rack = &p.b.cfg.Rack
		}
		for _, e := range p.b.cfg.Endpoints {
			l := kmsg.NewBrokerRegistrationRequestListener()
			l.Name, l.Host, l.Port, l.SecurityProtocol = e.Listener, e.Host, e.Port, int16(p.b.cfg.Protocols[e.Listener])
			req.Listeners = append(req.Listeners, l)
		}
		var err error
		req.Version, err = v.Pick(int16(kmsg.BrokerRegistration), 2, 4)
		return req, err
	})
	if err != nil {
		return err
	}
	resp := kresp.(*kmsg.BrokerRegistrationResponse)
	if err := kafka.ErrorCode(resp.ErrorCode).Err(); err != nil {
		return fmt.Errorf("BrokerRegistration: %w", err)
	}
	was := p.regEpoch.Swap(resp.BrokerEpoch)
	p.b.nowRegistered()
	p.b.log.Info("registered", "epoch", resp.BrokerEpoch)
	if was == resp.BrokerEpoch {
		return nil // the same registration, which says more
	}
	p.b.cfg.Trace.Emit(trace.Event{Kind: trace.BrokerRegistered, Broker: int32(p.b.cfg.ID), Offset: resp.BrokerEpoch})
	return nil
}

// refreshRegistration has the broker register again, as the same incarnation, where
// a new image has its registration without log directories and they count by now:
// it was made at a metadata.version below 3.7-IV2 (KIP-858).
func (p *kraftPlane) refreshRegistration(old, now *metadata.Image) {
	if !p.lacksDirectories(now) || p.lacksDirectories(old) {
		return
	}
	select {
	case p.refresh <- struct{}{}:
	default:
	}
}

func (p *kraftPlane) lacksDirectories(img *metadata.Image) bool {
	version := metadata.MetadataVersion(img.FeatureLevel(metadata.MetadataVersionFeature))
	reg, ok := img.Broker(p.b.cfg.ID)
	return ok && reg.Incarnation == p.incarnation && len(reg.LogDirs) == 0 && version.HasDirectories()
}

// logDirs are the ids of the log directories that work.
func (p *kraftPlane) logDirs() [][16]byte {
	if len(p.b.cfg.LogDirs) == 0 {
		return [][16]byte{directoryID(p.b.cfg.ClusterID, p.b.cfg.ID)}
	}
	return p.b.dirs.ids(false)
}

// logDirFailed has the next heartbeat, which tells of it, sent at once; those
// after it tell of it, too.
func (p *kraftPlane) logDirFailed(context.Context) {
	select {
	case p.dirFailed <- struct{}{}:
	default:
	}
}

// heartbeat sends one heartbeat and gives the time until the next.
func (p *kraftPlane) heartbeat(ctx context.Context, l *life) (wait time.Duration, left bool, err error) {
	var offline [][16]byte
	var sent int64
	led := p.leader.Load()
	wantLeave := false
	select {
	case <-p.leaving:
		wantLeave = true
		p.word.Store(nil) // it is fenced as it is let go
	default:
	}
	kresp, err := p.lifecycle.request(ctx, func(v wire.Versions) (kmsg.Request, error) {
		req := kmsg.NewPtrBrokerHeartbeatRequest()
		req.BrokerID, req.BrokerEpoch = int32(p.b.cfg.ID), p.regEpoch.Load()
		req.CurrentMetadataOffset = int64(p.b.Image().Offset())
		req.WantShutdown = wantLeave
		sent = trace.Now()
		var err error
		if req.Version, err = v.Pick(int16(kmsg.BrokerHeartbeat), 0, 1); req.Version >= 1 {
			offline = p.b.dirs.ids(true)
			req.OfflineLogDirs = offline
		}
		return req, err
	})
	if err != nil {
		return 0, false, err
	}
	resp := kresp.(*kmsg.BrokerHeartbeatResponse)
	switch code := kafka.ErrorCode(resp.ErrorCode); code {
	case kafka.None:
	case kafka.StaleBrokerEpoch:
		p.b.log.Warn("the controller knows another registration, registering again")
		l.registered, l.running = false, false
		p.word.Store(nil)
		return lifecycleBackoff, false, nil
	default:
		return 0, false, fmt.Errorf("BrokerHeartbeat: %w", code)
	}
	p.b.dirs.told(offline)
	if led == p.leader.Load() && !resp.IsFenced && !wantLeave {
		p.word.Store(&word{sent, led.Epoch})
	}
	if wantLeave && resp.ShouldShutdown {
		close(p.granted)
		return 0, true, nil
	}
	return p.nextHeartbeat(l, resp, wantLeave), false, nil
}

// word is that of the controller of an epoch that the broker is not fenced.
type word struct {
	sent int64 // trace.Now as the broker sent the heartbeat
	by   kafka.LeaderEpoch
}

// heardFenced has the trace tell that the metadata has a broker fenced which
// heartbeats.
func (p *kraftPlane) heardFenced() {
	if w := p.word.Swap(nil); w != nil {
		now := trace.Now()
		p.b.cfg.Trace.Emit(trace.Event{T: now, Kind: trace.BrokerHeardFenced, Epoch: int64(w.by), Broker: int32(p.b.cfg.ID), N: now - w.sent})
	}
}

func (p *kraftPlane) nextHeartbeat(l *life, resp *kmsg.BrokerHeartbeatResponse, wantLeave bool) time.Duration {
	running := resp.IsCaughtUp && !resp.IsFenced
	if running != l.running {
		p.b.log.Info("registration changed", "unfenced", running)
	}
	l.running = running
	switch {
	case wantLeave && !l.asked:
		l.asked = true
		return min(leavingHeartbeat, p.cfg.Heartbeat)
	case wantLeave || running:
		return p.cfg.Heartbeat
	}
	return min(startingHeartbeat, p.cfg.Heartbeat)
}

// leave asks by heartbeats to be let go, and waits for the grant.
func (p *kraftPlane) leave(ctx context.Context) error {
	id := int32(p.b.cfg.ID)
	p.b.cfg.Trace.Emit(trace.Event{Kind: trace.ShutdownRequested, Broker: id})
	if p.epoch() == kafka.NoBrokerEpoch {
		return nil // never registered: nobody would grant it, and it leads nothing
	}
	p.leaveOnce.Do(func() { close(p.leaving) })
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ShutdownTimeout)
	defer cancel()
	select {
	case <-p.granted:
		p.b.cfg.Trace.Emit(trace.Event{Kind: trace.ShutdownGranted, Broker: id})
		p.b.log.Info("controlled shutdown granted")
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the controller did not grant it in time: %w", ctx.Err())
	}
}

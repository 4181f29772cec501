package zk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kbench/kafka"
)

// maxRegisterTries bounds the races of a registration with its predecessor's
// expiry; each try means that the znode changed hands in between.
const maxRegisterTries = 10

// EnsurePersistentPaths creates the roots of Kafka's layout that are missing.
func (s *Session) EnsurePersistentPaths(ctx context.Context) error {
	return s.ensureAll(ctx, persistentPaths)
}

// ensureAll creates the paths that are missing. It looks first: in a cluster
// that has been up before, none is, and reads cost no write to a log.
func (s *Session) ensureAll(ctx context.Context, paths []string) error {
	there := make([]Result, len(paths))
	err := s.Pipeline(ctx, len(paths), func(i int) Op { return Exists(paths[i]) }, func(i int, r Result) { there[i] = r })
	if err != nil {
		return err
	}
	for i, p := range paths {
		if there[i].Err == nil && there[i].Exists {
			continue
		}
		if err := s.ensure(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// ensure creates path and its parents where they are missing.
func (s *Session) ensure(ctx context.Context, path string) error {
	r := s.Do(ctx, Create(path, nil))
	if errors.Is(r.Err, ErrNoNode) {
		if i := strings.LastIndexByte(path, '/'); i > 0 {
			if err := s.ensure(ctx, path[:i]); err != nil {
				return err
			}
			r = s.Do(ctx, Create(path, nil))
		}
	}
	if r.Err != nil && !errors.Is(r.Err, ErrNodeExists) {
		return fmt.Errorf("zk: create %s: %w", path, r.Err)
	}
	return nil
}

// ClusterID gives the cluster's id, writing candidate where there is none yet.
func (s *Session) ClusterID(ctx context.Context, candidate kafka.UUID) (string, error) {
	if err := s.ensure(ctx, "/cluster"); err != nil {
		return "", err
	}
	r := s.Do(ctx, Create(ClusterIDPath, EncodeClusterID(candidate)))
	if r.Err != nil && !errors.Is(r.Err, ErrNodeExists) {
		return "", fmt.Errorf("zk: create %s: %w", ClusterIDPath, r.Err)
	}
	g := s.Do(ctx, Get(ClusterIDPath))
	if g.Err != nil {
		return "", fmt.Errorf("zk: read %s: %w", ClusterIDPath, g.Err)
	}
	return DecodeClusterID(g.Data)
}

// RegisterBroker creates the broker's ephemeral znode and gives its epoch, the
// czxid. A registration that this session or its predecessor
// (Config.PreviousSession) already holds is taken over; one of any other
// session gives an *OwnedError.
func (s *Session) RegisterBroker(ctx context.Context, reg BrokerRegistration) (kafka.BrokerEpoch, error) {
	path := BrokerPath(reg.ID)
	data := EncodeBroker(reg)
	for range maxRegisterTries {
		// The write of the data, not the creation, answers with the czxid.
		res, _, err := s.multi(ctx, CreateEphemeral(path, nil), Set(path, data, 0))
		if err == nil {
			return kafka.BrokerEpoch(res[1].Czxid), nil
		}
		if !errors.Is(err, ErrNodeExists) {
			return kafka.NoBrokerEpoch, fmt.Errorf("zk: register broker %d: %w", reg.ID, err)
		}
		r := s.Do(ctx, Get(path))
		switch {
		case errors.Is(r.Err, ErrNoNode):
			continue
		case r.Err != nil:
			return kafka.NoBrokerEpoch, fmt.Errorf("zk: register broker %d: %w", reg.ID, r.Err)
		case r.Owner == s.id:
			return kafka.BrokerEpoch(r.Czxid), nil
		case r.Owner != s.cfg.PreviousSession || r.Owner == 0:
			return kafka.NoBrokerEpoch, &OwnedError{Path: path, Owner: r.Owner}
		}
		if d := s.Do(ctx, Delete(path, AnyVersion)); d.Err != nil && !errors.Is(d.Err, ErrNoNode) {
			return kafka.NoBrokerEpoch, fmt.Errorf("zk: remove the registration of broker %d left by session 0x%x: %w",
				reg.ID, uint64(r.Owner), d.Err)
		}
	}
	return kafka.NoBrokerEpoch, fmt.Errorf("zk: register broker %d: %s changed hands %d times meanwhile",
		reg.ID, path, maxRegisterTries)
}

// UpdateBroker rewrites the data of a registration that this session holds.
func (s *Session) UpdateBroker(ctx context.Context, reg BrokerRegistration) error {
	r := s.Do(ctx, Set(BrokerPath(reg.ID), EncodeBroker(reg), AnyVersion))
	if r.Err != nil {
		return fmt.Errorf("zk: update the registration of broker %d: %w", reg.ID, r.Err)
	}
	return nil
}

// ReadConfig gives the configuration of an entity; empty where there is none.
func (s *Session) ReadConfig(ctx context.Context, typ, entity string) (map[string]string, error) {
	r := s.Do(ctx, Get(EntityConfigPath(typ, entity)))
	if errors.Is(r.Err, ErrNoNode) {
		return map[string]string{}, nil
	}
	if r.Err != nil {
		return nil, fmt.Errorf("zk: read configuration of %s %s: %w", typ, entity, r.Err)
	}
	return DecodeConfig(r.Data)
}

// WriteConfig replaces the configuration of an entity and notifies every
// broker by a node under /config/changes.
func (s *Session) WriteConfig(ctx context.Context, typ, entity string, config map[string]string) error {
	path := EntityConfigPath(typ, entity)
	data := EncodeConfig(config)
	r := s.Do(ctx, Set(path, data, AnyVersion))
	if errors.Is(r.Err, ErrNoNode) {
		if err := s.ensure(ctx, path); err != nil {
			return err
		}
		r = s.Do(ctx, Set(path, data, AnyVersion))
	}
	if r.Err == nil {
		r = s.Do(ctx, CreateSequential(ConfigChangesPath+"/config_change_", EncodeConfigChange(typ+"/"+entity)))
	}
	if r.Err != nil {
		return fmt.Errorf("zk: write configuration of %s %s: %w", typ, entity, r.Err)
	}
	return nil
}

// WaitDeleted returns when path is gone. It serves a broker whose id is still
// held by the session of its own killed predecessor.
func (s *Session) WaitDeleted(ctx context.Context, path string) error {
	for { // each turn is one change of the znode
		if err := s.pass(ctx); err != nil {
			return err
		}
		exists, _, changed, err := s.conn.ExistsW(path)
		<-s.flight
		switch {
		case lost(err):
			continue
		case err != nil:
			return fmt.Errorf("zk: watch %s: %w", path, err)
		case !exists:
			return nil
		}
		select {
		case <-changed:
		case <-s.done:
			return s.Err()
		case <-ctx.Done():
			return fmt.Errorf("zk: wait until %s is gone: %w", path, ctx.Err())
		}
	}
}

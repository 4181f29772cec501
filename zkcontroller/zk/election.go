package zk

import (
	"context"
	"errors"
	"fmt"

	"kbench/kafka"
)

// Election is the outcome of Elect.
type Election struct {
	Won          bool
	Controller   kafka.BrokerID        // who holds /controller; -1 where it went away again
	Epoch        kafka.ControllerEpoch // if Won: the epoch now held
	EpochVersion int32                 // if Won: the version of /controller_epoch that fences writes
}

// Elect tries to become controller, in Kafka's order: one multi creates
// /controller and raises /controller_epoch, so that no epoch has two winners.
// Where the multi fails although both say that id won with the epoch it tried
// for, only the reply was lost and the election counts as won. The path
// /controller is read, so its watch is armed if it is registered.
func (s *Session) Elect(ctx context.Context, id kafka.BrokerID, timestampMs int64) (Election, error) {
	if holder, there, err := s.controller(ctx); err != nil || there {
		return Election{Controller: holder}, err
	}
	epoch, version, err := s.controllerEpoch(ctx)
	if err != nil {
		return Election{}, err
	}
	res, _, err := s.multi(ctx,
		CreateEphemeral(ControllerPath, EncodeController(id, timestampMs)),
		Set(ControllerEpochPath, EncodeControllerEpoch(epoch+1), version))
	switch {
	case err == nil:
		_, _, err = s.controller(ctx) // arms the watch
		return Election{true, id, epoch + 1, res[1].Version}, err
	case errors.Is(err, ErrNodeExists), errors.Is(err, ErrBadVersion):
		return s.lostReply(ctx, id, epoch+1)
	}
	return Election{}, fmt.Errorf("zk: elect broker %d with epoch %d: %w", id, epoch+1, err)
}

// lostReply decides a multi that failed, by what ZooKeeper now holds.
func (s *Session) lostReply(ctx context.Context, id kafka.BrokerID, tried kafka.ControllerEpoch) (Election, error) {
	holder, there, err := s.controller(ctx)
	if err != nil {
		return Election{}, err
	}
	epoch, version, err := s.controllerEpoch(ctx)
	if err != nil {
		return Election{}, err
	}
	if there && holder == id && epoch == tried {
		return Election{true, id, epoch, version}, nil
	}
	if !there {
		holder = kafka.NoLeader
	}
	return Election{Controller: holder}, nil
}

// controller reads /controller, arming its watch also where it is missing.
func (s *Session) controller(ctx context.Context) (kafka.BrokerID, bool, error) {
	for { // ends: each turn means that /controller came or went in between
		r := s.Do(ctx, Get(ControllerPath))
		switch {
		case r.Err == nil:
			id, err := DecodeController(r.Data)
			return id, true, err
		case !errors.Is(r.Err, ErrNoNode):
			return kafka.NoLeader, false, fmt.Errorf("zk: read %s: %w", ControllerPath, r.Err)
		}
		e := s.Do(ctx, Exists(ControllerPath))
		if e.Err != nil {
			return kafka.NoLeader, false, fmt.Errorf("zk: watch %s: %w", ControllerPath, e.Err)
		}
		if !e.Exists {
			return kafka.NoLeader, false, nil
		}
	}
}

// controllerEpoch reads /controller_epoch, creating it as 0 in a new cluster.
func (s *Session) controllerEpoch(ctx context.Context) (kafka.ControllerEpoch, int32, error) {
	r := s.Do(ctx, Get(ControllerEpochPath))
	if errors.Is(r.Err, ErrNoNode) {
		c := s.Do(ctx, Create(ControllerEpochPath, EncodeControllerEpoch(0)))
		if c.Err != nil && !errors.Is(c.Err, ErrNodeExists) {
			return 0, 0, fmt.Errorf("zk: create %s: %w", ControllerEpochPath, c.Err)
		}
		r = s.Do(ctx, Get(ControllerEpochPath))
	}
	if r.Err != nil {
		return 0, 0, fmt.Errorf("zk: read %s: %w", ControllerEpochPath, r.Err)
	}
	epoch, err := DecodeControllerEpoch(r.Data)
	return epoch, r.Version, err
}

// ResignController deletes /controller if the epoch's version is still the one
// given; its watchers then elect another.
func (s *Session) ResignController(ctx context.Context, epochVersion int32) error {
	r := s.Do(ctx, Delete(ControllerPath, AnyVersion).Fenced(epochVersion))
	if errors.Is(r.Err, ErrNoNode) {
		return nil
	}
	return r.Err
}

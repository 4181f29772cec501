package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

// adminAttempts bounds the tries of one admin request.
const adminAttempts = 10

var (
	// errRefused is an answer that another try will not change.
	errRefused  = errors.New("refused")
	errNoBroker = errors.New("no live broker")
)

// insist sends an admin request where the cluster's mode wants it, again where
// the cluster was not ready or the answer was lost. try is told whether it comes
// again: then what it asks for may have happened. what names the request.
func (a *admin) insist(ctx context.Context, what string, try func(ctx context.Context, addr string, again bool) error) (retries int, err error) {
	return a.insistAt(ctx, what, a.target, try)
}

// insistAt is insist where target says whom to ask.
func (a *admin) insistAt(ctx context.Context, what string, target func(context.Context) (string, error), try func(ctx context.Context, addr string, again bool) error) (retries int, err error) {
	for n := range adminAttempts {
		if n > 0 {
			retries++
			if err := pause(ctx, min(time.Duration(n)*100*time.Millisecond, 2*time.Second)); err != nil {
				return retries, err
			}
		}
		one, cancel := context.WithTimeout(ctx, createTimeout+5*time.Second)
		addr, terr := target(one)
		if err = terr; err == nil {
			err = try(one, addr, n > 0)
		}
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, errRefused) || errors.Is(err, errNotServed) {
			return retries, err
		}
		a.forget()
	}
	return retries, fmt.Errorf("%s, %d tries: %w", what, adminAttempts, err)
}

// judged turns an answer into an error, errRefused where another try will not
// change it.
func judged(code int16, message *string) error {
	c, text := kafka.ErrorCode(code), ""
	if message != nil {
		text = " (" + *message + ")"
	}
	switch {
	case c == kafka.None:
		return nil
	case retriable(c):
		return fmt.Errorf("%w%s", c, text)
	}
	return fmt.Errorf("%w: %w%s", errRefused, c, text)
}

// retriable tells codes of a cluster that is not ready from refusals.
func retriable(c kafka.ErrorCode) bool {
	switch c {
	case kafka.NotController, kafka.RequestTimedOut, kafka.NetworkException, kafka.BrokerNotAvailable,
		kafka.LeaderNotAvailable, kafka.InvalidReplicaAssignment, kafka.UnknownServerError:
		// INVALID_REPLICA_ASSIGNMENT too: brokers may be registering still.
		return true
	}
	return false
}

// unsure tells codes of requests that may go on at the controller. One of a
// quorum that loses its epoch says NOT_CONTROLLER of what it has appended, and
// its successor may commit that.
func (a *admin) unsure(c kafka.ErrorCode) bool {
	return retriable(c) && (c != kafka.NotController || a.cluster.Mode() == nodeconfig.ModeKRaft)
}

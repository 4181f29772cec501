package raftclient

import (
	"slices"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// alone measures, for the trace, how long a leader leads without a majority of
// the voters that fetches (K6). It goes by what the loop hands to the machine and
// not by what the machine makes of it, and leaves out the time by which the loop
// was late: a process that was stopped, or did not get the processor, could not
// step down.
type alone struct {
	self  kafka.BrokerID
	limit time.Duration // 1.5 fetch timeouts

	late time.Duration // by which steps came later than they were due, in all
	due  time.Duration // when the next step is

	epoch  kafka.LeaderEpoch // that the node leads, NoEpoch for none
	told   bool              // that it leads it for too long
	voters []raft.Voter
	since  time.Duration // it leads, or these are the voters; on the clock of heard
	heard  map[kafka.BrokerID]time.Duration
	last   []time.Duration // scratch
}

func newAlone(self kafka.BrokerID, fetchTimeout time.Duration) alone {
	return alone{self: self, limit: fetchTimeout * 3 / 2, epoch: kafka.NoEpoch, heard: map[kafka.BrokerID]time.Duration{}}
}

// stepped takes note of a step, of the voters behind it, and of when the next is
// due. It gives what the trace is to be told where the leadership of an epoch is
// over, or lasts too long.
func (a *alone) stepped(now time.Duration, in raft.Input, fx raft.Effects, voters []raft.Voter, deadline time.Duration) (e trace.Event, tell bool) {
	a.late += max(now-a.due, 0)
	a.due = max(deadline, now)
	now -= a.late // a clock that stands still with the loop
	over := a.epoch != kafka.NoEpoch && fx.Role != nil && (fx.Role.State != raft.Leader || fx.Role.Epoch != a.epoch)
	if a.epoch != kafka.NoEpoch {
		led := now - a.majorityAt(now)
		if tell = over || led > a.limit && !a.told; tell {
			a.told = true
			e = trace.Event{Kind: trace.QuorumLedAlone, Epoch: int64(a.epoch), N: int64(led), Limit: int64(a.limit)}
		}
	}
	if over {
		a.epoch = kafka.NoEpoch
	}
	if fx.Role != nil && fx.Role.State == raft.Leader && a.epoch == kafka.NoEpoch {
		a.epoch, a.told, a.since = fx.Role.Epoch, false, now
		clear(a.heard)
	}
	if a.epoch == kafka.NoEpoch {
		return e, tell
	}
	if changed(fx) { // the new majority has time to show itself
		a.since = now
	}
	a.voters = voters
	if id, ok := fetcher(in); ok && slices.ContainsFunc(voters, func(v raft.Voter) bool { return v.ID == id }) {
		a.heard[id] = now
	}
	return e, tell
}

// majorityAt is when a majority, the leader included, was last heard of.
func (a *alone) majorityAt(now time.Duration) time.Duration {
	need := len(a.voters)/2 + 1
	a.last = a.last[:0]
	for _, v := range a.voters {
		if v.ID == a.self {
			need--
			continue
		}
		a.last = append(a.last, max(a.heard[v.ID], a.since))
	}
	if need == 0 {
		return now
	}
	slices.Sort(a.last)
	return a.last[len(a.last)-need]
}

// changed reports whether a step changed the voters.
func changed(fx raft.Effects) bool {
	return slices.ContainsFunc(fx.Log, func(op raft.LogOp) bool {
		a, ok := op.(raft.LogAppend)
		return ok && len(a.Changes) > 0
	})
}

// fetcher is the replica that fetches with an input.
func fetcher(in raft.Input) (kafka.BrokerID, bool) {
	r, ok := in.(raft.Request)
	if !ok {
		return kafka.NoLeader, false
	}
	f, ok := r.Message.(raft.FetchRequest)
	return f.Replica.ID, ok
}

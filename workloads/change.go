package workloads

import (
	"context"
	"errors"
	"slices"

	"kbench/kafka"
)

// changer makes metadata changes of one kind and tells from a broker's answers
// that the broker serves one. Its methods but prepare and clean are called from
// many goroutines.
type changer interface {
	// prepare makes what n changes need; the clock does not run yet.
	prepare(ctx context.Context, n int) error
	// next names what the nth change is made to, as no other change under way
	// is named; false where all that was prepared is in use.
	next(n int64) (subject string, ok bool)
	// send has a change made and returns when it is acknowledged.
	send(ctx context.Context, subject string) error
	// question asks a broker about changes that it does not serve yet, oldest
	// first. When the answer comes, told hears of each that it tells of, and
	// whether the broker serves it.
	question(n Node, subjects []string, told func(subject string, served bool, doneNs int64)) question
	// over takes back what a change was made to.
	over(subject string)
	// clean removes what was prepared.
	clean(ctx context.Context) error
}

// change is one operation of an open loop with its four stamps, CLOCK_MONOTONIC
// ns: intended, sent, acknowledged, and applied by each broker.
type change struct {
	op
	subject string
	ackedNs int64                    // 0 while it is not acknowledged
	seen    []int64                  // when each broker that serves it was seen to
	seenBy  map[kafka.BrokerID]int64 // the same by broker
	// behind are the brokers that answered with the old view after another had
	// served the new one.
	behind map[kafka.BrokerID]bool
	// absent are the brokers that are not to serve it: a fault took them away
	// before they did.
	absent map[kafka.BrokerID]bool
	quiet  bool // it warms up and is not counted
	taken  bool // every live broker serves it, and it was counted
}

func (c *change) firstNs() int64 { return c.seen[0] }
func (c *change) lastNs() int64  { return c.seen[len(c.seen)-1] }

// changersOf gives the kinds of change by their names in a spec.
var changersOf = map[string]func(*trialRun) changer{
	changeCreate: func(t *trialRun) changer { return &creations{trialRun: t} },
	changeConfig: func(t *trialRun) changer { return &configChanges{trialRun: t} },
	changeLeader: func(t *trialRun) changer { return &leaderChanges{trialRun: t} },
}

// The kinds of change.
const (
	changeCreate = "create" // a topic of one partition
	changeConfig = "config" // min.insync.replicas and max.message.bytes of a topic
	changeLeader = "leader" // the leader of a partition, by an election
)

// refusesChanges refuses the kinds of change that a cluster cannot have.
func refusesChanges(s Setup, kinds ...string) error {
	if slices.Contains(kinds, changeLeader) && (s.Brokers < 2 || s.Replication < 1) {
		return errors.New("changes of leaders need a second broker; write brokers: 2 or more")
	}
	return nil
}

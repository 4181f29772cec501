package checker

import (
	"fmt"
	"time"

	"kbench/kafka"
)

// leaderKey is one leadership. The topic id tells a topic from a later one of
// the same name, whose epochs start anew.
type leaderKey struct {
	topic     string
	id        kafka.UUID
	partition int32
	epoch     kafka.LeaderEpoch
}

type claim struct {
	leader kafka.BrokerID
	broker kafka.BrokerID // who served it
}

// oneLeader: within a leader epoch the leader may be lost, never replaced.
func oneLeader(h History) Result {
	r := Result{Name: "one-leader", Note: h.unkept()}
	seen := make(map[leaderKey]claim)
	look := func(k leaderKey, leader, broker kafka.BrokerID) {
		if leader < 0 || k.epoch < 0 {
			return
		}
		r.Looked++
		c, known := seen[k]
		if !known {
			seen[k] = claim{leader, broker}
			return
		}
		if c.leader != leader {
			r.fault("%s-%d has two leaders in epoch %d: %d as broker %d served it, %d as broker %d did", k.topic, k.partition, k.epoch, c.leader, c.broker, leader, broker)
		}
	}
	for _, o := range h.Observations {
		look(leaderKey{o.Topic, o.TopicID, o.Partition, o.LeaderEpoch}, o.Leader, o.Broker)
	}
	probed := probedWithoutID(h.Observations)
	for _, v := range h.Views {
		for _, t := range v.Topics {
			for _, p := range t.Partitions {
				look(leaderKey{t.Name, t.ID, p.Index, p.LeaderEpoch}, p.Leader, v.Broker)
				if probed[t.Name] {
					look(leaderKey{t.Name, kafka.UUID{}, p.Index, p.LeaderEpoch}, p.Leader, v.Broker)
				}
			}
		}
	}
	return r
}

// unkept says that observations were judged up to a moment only.
func (h History) unkept() string {
	if h.Unkept == 0 {
		return ""
	}
	return fmt.Sprintf("judged the first %d observations, %d came after", len(h.Observations), h.Unkept)
}

// probedWithoutID lists topics whose probes did not ask for ids, so that views
// are compared with them by name too.
func probedWithoutID(os []Observation) map[string]bool {
	out := make(map[string]bool)
	for _, o := range os {
		if o.TopicID.IsZero() {
			out[o.Topic] = true
		}
	}
	return out
}

// epochsForward: one process never serves an older leader epoch after a newer.
func epochsForward(h History) Result {
	type server struct {
		broker      kafka.BrokerID
		incarnation int
		topic       string
		id          kafka.UUID
		partition   int32
	}
	r := Result{Name: "epochs-forward", Note: h.unkept()}
	last := make(map[server]kafka.LeaderEpoch)
	for _, o := range h.Observations {
		if o.LeaderEpoch < 0 {
			continue
		}
		k := server{o.Broker, o.Incarnation, o.Topic, o.TopicID, o.Partition}
		before, known := last[k]
		if known {
			r.Looked++
			if o.LeaderEpoch < before {
				r.fault("broker %d served %s-%d with leader epoch %d after %d", o.Broker, o.Topic, o.Partition, o.LeaderEpoch, before)
			}
		}
		if !known || o.LeaderEpoch > before {
			last[k] = o.LeaderEpoch
		}
	}
	return r
}

// oneController: an epoch belongs to one controller.
func oneController(es []Election) Result {
	r := Result{Name: "one-controller"}
	owner := make(map[int64]string)
	for _, e := range es {
		r.Looked++
		if before, known := owner[e.Epoch]; known && before != e.Node {
			r.fault("controller epoch %d was claimed by %s and by %s", e.Epoch, before, e.Node)
			continue
		}
		owner[e.Epoch] = e.Node
	}
	return r
}

// clocksDiffer is how much two clocks of one machine may.
const clocksDiffer = int64(time.Millisecond)

// liveNotFenced: a controller that heard a broker lets its session pass before it
// fences it.
func liveNotFenced(fs []Fence) Result {
	r := Result{Name: "live-not-fenced"}
	for _, f := range fs {
		r.Looked++
		if f.SilentNs < f.SessionNs-clocksDiffer {
			r.fault("controller epoch %d fenced broker %d %v after it had sent a heartbeat that was heard, its session is %v",
				f.Epoch, f.Broker, time.Duration(f.SilentNs), time.Duration(f.SessionNs))
		}
	}
	return r
}

// isolatedStepsDown: a leader whom no majority fetches from resigns in time.
func isolatedStepsDown(ls []LedAlone) Result {
	r := Result{Name: "isolated-steps-down"}
	for _, l := range ls {
		r.Looked++
		if l.AloneNs > l.LimitNs {
			r.fault("%s led epoch %d for %v without a majority that fetched, it may for %v", l.Node, l.Epoch, time.Duration(l.AloneNs), time.Duration(l.LimitNs))
		}
	}
	return r
}

// controllerEpochsForward: a node never goes back to an older controller.
func controllerEpochsForward(es []EpochSeen) Result {
	r := Result{Name: "controller-epochs-forward"}
	last := make(map[string]int64)
	for _, e := range es {
		before, known := last[e.Node]
		if known {
			r.Looked++
			if e.Epoch < before {
				r.fault("%s saw controller epoch %d after %d", e.Node, e.Epoch, before)
				continue
			}
		}
		last[e.Node] = e.Epoch
	}
	return r
}

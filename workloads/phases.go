package workloads

import (
	"fmt"
	"slices"

	"kbench/internal/trace"
	"kbench/kafka"
)

// firstOf gives the first event of one of the kinds about a broker; the kinds
// come in order of preference.
func firstOf(events []trace.Event, broker kafka.BrokerID, kinds ...trace.Kind) (ns int64, ok bool) {
	for _, k := range kinds {
		for _, e := range events {
			if e.Kind == k && e.Broker == int32(broker) && (!ok || e.T < ns) {
				ns, ok = e.T, true
			}
		}
		if ok {
			return ns, true
		}
	}
	return 0, false
}

// recovery is the white-box view of one controller failover: when each step
// ended, CLOCK_MONOTONIC ns, 0 for a step that no trace tells.
type recovery struct {
	epoch     int64 // the epoch that the cluster settled on
	elections int   // controllers elected since the fault, 1 in a smooth failover
	detected  int64
	elected   int64
	loaded    int64
	active    int64
	pushed    int64 // the last live broker holds the epoch
	unpushed  []kafka.BrokerID
}

// readRecovery finds the steps in the events since the fault. brokers are the
// live ones that must learn the epoch. The epoch that counts is the highest
// one whose controller became active; before there is one, the highest
// elected.
func readRecovery(events []trace.Event, brokers []kafka.BrokerID) recovery {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b trace.Event) int { return int(min(max(a.T-b.T, -1), 1)) })
	var r recovery
	activated := false
	for _, e := range events {
		switch e.Kind {
		case trace.ControllerElected:
			r.elections++
			if !activated {
				r.epoch = max(r.epoch, e.Epoch)
			}
		case trace.ControllerActive:
			if !activated || e.Epoch > r.epoch {
				r.epoch, activated = e.Epoch, true
			}
		}
	}
	first := func(k trace.Kind) int64 {
		for _, e := range events {
			if e.Kind == k && e.Epoch == r.epoch {
				return e.T
			}
		}
		return 0
	}
	r.elected, r.loaded, r.active = first(trace.ControllerElected), first(trace.ControllerLoaded), first(trace.ControllerActive)
	for _, e := range events {
		if e.Kind == trace.ControllerDetected && (r.elected == 0 || e.T <= r.elected) {
			r.detected = e.T
			break
		}
	}
	for _, id := range brokers {
		ns := brokerEpochAt(events, id, r.epoch)
		if ns == 0 {
			r.unpushed = append(r.unpushed, id)
			continue
		}
		r.pushed = max(r.pushed, ns)
	}
	if len(r.unpushed) > 0 {
		r.pushed = 0
	}
	return r
}

// withoutDetection leaves out that a node itself noticed the absence of a
// controller. A node of one broker or controller is named after its id.
func withoutDetection(events []trace.Event, id kafka.BrokerID) []trace.Event {
	broker, controller := fmt.Sprintf("broker-%d", id), fmt.Sprintf("controller-%d", id)
	return slices.DeleteFunc(slices.Clone(events), func(e trace.Event) bool {
		return e.Kind == trace.ControllerDetected && (e.Node == broker || e.Node == controller)
	})
}

// brokerEpochAt gives when a broker first held an epoch or a later one. A
// process of one broker may leave its id to the node's name.
func brokerEpochAt(events []trace.Event, id kafka.BrokerID, epoch int64) int64 {
	name := fmt.Sprintf("broker-%d", id)
	for _, e := range events {
		if e.Kind == trace.BrokerControllerEpoch && e.Epoch >= epoch &&
			(e.Broker == int32(id) || e.Broker == 0 && e.Node == name) {
			return e.T
		}
	}
	return 0
}

// whole reports whether every step is told.
func (r recovery) whole() bool {
	return r.detected != 0 && r.elected != 0 && r.loaded != 0 && r.active != 0 && r.pushed != 0
}

// step is one phase and its length.
type step struct {
	phase string
	ns    int64
	endNs int64
}

// steps cuts the recovery into phases that follow each other, each from the
// end of the one before. A phase whose begin or end no trace tells is left
// out. Push is 0 where the brokers held the epoch before the successor had its
// state, as they may where they learn it from the log.
func (r recovery) steps(startNs int64) []step {
	var out []step
	end, begun := startNs, true
	for _, s := range []step{
		{phase: PhaseDetect, endNs: r.detected},
		{phase: PhaseElect, endNs: r.elected},
		{phase: PhaseLoad, endNs: r.loaded},
		{phase: PhasePush, endNs: r.pushed},
	} {
		if s.endNs == 0 {
			begun = false
			continue
		}
		s.ns = max(0, s.endNs-end)
		end = max(end, s.endNs)
		if begun {
			out = append(out, s)
		}
		begun = true
	}
	return out
}

package checker

import "fmt"

// maxFaults bounds the faults that one invariant lists: the first ones tell.
const maxFaults = 10

// Result is one invariant's answer. Its name is part of the run folder's
// format.
type Result struct {
	Name   string
	Looked int64    // things compared; an invariant that saw none proves nothing
	Faults []string // the first maxFaults
	More   int64    // faults beyond those
	Note   string   // what it did not look at, and why; empty where it saw all there was
}

// OK reports whether no fault was found.
func (r Result) OK() bool { return len(r.Faults) == 0 }

func (r *Result) fault(format string, args ...any) {
	if len(r.Faults) >= maxFaults {
		r.More++
		return
	}
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

// Verdict is the answer of all invariants, always in the same order.
type Verdict []Result

// OK reports whether every invariant holds.
func (v Verdict) OK() bool {
	for _, r := range v {
		if !r.OK() {
			return false
		}
	}
	return true
}

// Check judges a history by every invariant:
//
//   - acknowledged: each acknowledged change is in every broker's final view,
//     and where views hold topics there is an acknowledged change
//   - linearizable: the changes of a topic took effect one after the other, each
//     between its sending and its answer
//   - equal-images: all brokers serve the same metadata in the end
//   - one-leader: a leader epoch of a partition has one leader only
//   - epochs-forward: what one process serves never goes back in leader epoch
//   - one-controller: a controller epoch is claimed by one node only
//   - controller-epochs-forward: a node never sees a controller epoch go back
//   - live-not-fenced: no broker is fenced within a session of its heartbeat
//   - isolated-steps-down: no leader of a quorum goes on without a majority of it
func Check(h History) Verdict {
	return Verdict{
		acknowledged(h), linearizable(h), equalImages(h.Views), oneLeader(h), epochsForward(h),
		oneController(h.Elections), controllerEpochsForward(h.Epochs), liveNotFenced(h.Fences),
		isolatedStepsDown(h.LedAlone),
	}
}

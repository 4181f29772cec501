package workloads

import (
	"slices"
	"testing"

	"kbench/internal/trace"
	"kbench/kafka"
)

func TestReadRecovery(t *testing.T) {
	ev := func(t int64, k trace.Kind, epoch int64, broker int32) trace.Event {
		return trace.Event{T: t, Kind: k, Epoch: epoch, Broker: broker}
	}
	smooth := []trace.Event{
		ev(150, trace.BrokerControllerEpoch, 5, 2), ev(100, trace.ControllerDetected, 4, 0), ev(105, trace.ControllerDetected, 4, 0),
		ev(110, trace.ControllerElected, 5, 0), ev(130, trace.ControllerLoaded, 5, 0), ev(140, trace.ControllerActive, 5, 0),
		{T: 160, Kind: trace.BrokerControllerEpoch, Epoch: 5, Node: "broker-1"},
	}
	for name, tc := range map[string]struct {
		events []trace.Event
		epoch  int64
		steps  []step
		whole  bool
	}{
		"smooth": {smooth, 5, []step{{PhaseDetect, 100, 100}, {PhaseElect, 10, 110}, {PhaseLoad, 20, 130}, {PhasePush, 30, 160}}, true},
		"two elections": {
			append([]trace.Event{ev(102, trace.ControllerElected, 4, 0)}, smooth...),
			5,
			[]step{{PhaseDetect, 100, 100}, {PhaseElect, 10, 110}, {PhaseLoad, 20, 130}, {PhasePush, 30, 160}},
			true,
		},
		"brokers knew first": {
			[]trace.Event{
				ev(100, trace.ControllerDetected, 4, 0), ev(110, trace.ControllerElected, 5, 0), ev(112, trace.BrokerControllerEpoch, 5, 1),
				ev(113, trace.BrokerControllerEpoch, 5, 2), ev(130, trace.ControllerLoaded, 5, 0), ev(131, trace.ControllerActive, 5, 0),
			},
			5,
			[]step{{PhaseDetect, 100, 100}, {PhaseElect, 10, 110}, {PhaseLoad, 20, 130}, {PhasePush, 0, 113}},
			true,
		},
		"one broker silent": {smooth[1:], 5, []step{{PhaseDetect, 100, 100}, {PhaseElect, 10, 110}, {PhaseLoad, 20, 130}}, false},
		"nobody detected": {
			slices.DeleteFunc(slices.Clone(smooth), func(e trace.Event) bool { return e.Kind == trace.ControllerDetected }),
			5,
			[]step{{PhaseLoad, 20, 130}, {PhasePush, 30, 160}},
			false,
		},
		"nothing": {nil, 0, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tc.events)
			r := readRecovery(tc.events, []kafka.BrokerID{1, 2})
			if r.epoch != tc.epoch || r.whole() != tc.whole || !slices.Equal(r.steps(0), tc.steps) {
				t.Errorf("epoch %d, whole %v, steps %+v", r.epoch, r.whole(), r.steps(0))
			}
			if !slices.Equal(before, tc.events) {
				t.Error("the caller's events were changed")
			}
		})
	}
}

func TestFirstOf(t *testing.T) {
	events := []trace.Event{
		{T: 9, Kind: trace.ControllerShutdownGranted, Broker: 2},
		{T: 7, Kind: trace.ControllerShutdownGranted, Broker: 2},
		{T: 5, Kind: trace.ShutdownGranted, Broker: 2},
		{T: 3, Kind: trace.ShutdownGranted, Broker: 1},
	}
	if ns, ok := firstOf(events, 2, trace.ControllerShutdownGranted, trace.ShutdownGranted); !ok || ns != 7 {
		t.Errorf("got %d, %v", ns, ok)
	}
	if ns, ok := firstOf(events, 1, trace.ControllerShutdownGranted, trace.ShutdownGranted); !ok || ns != 3 {
		t.Errorf("got %d, %v", ns, ok)
	}
	if _, ok := firstOf(events, 4, trace.ShutdownGranted); ok {
		t.Error("found an event of another broker")
	}
}

// TestIsolatedControllersOwnDetectionDoesNotCount: the one that was cut off
// notices first that it has no quorum, and that is not what is measured.
func TestIsolatedControllersOwnDetectionDoesNotCount(t *testing.T) {
	events := []trace.Event{
		{T: 10, Node: "controller-1001", Kind: trace.ControllerDetected},
		{T: 11, Node: "broker-1001", Kind: trace.ControllerDetected},
		{T: 30, Node: "controller-1002", Kind: trace.ControllerDetected},
		{T: 40, Node: "controller-1002", Kind: trace.ControllerElected, Epoch: 2},
	}
	if got := readRecovery(withoutDetection(events, 1001), nil).detected; got != 30 {
		t.Errorf("detected at %d, want 30", got)
	}
	if len(events) != 4 || events[0].T != 10 {
		t.Error("the events were changed")
	}
}

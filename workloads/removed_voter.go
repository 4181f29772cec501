package workloads

import (
	"context"
	"fmt"
	"slices"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
)

var removedVoter = Workload{
	Kind:   "removed-voter",
	Doc:    "remove a voter that cannot hear of it, and let it come back: does it disturb the others?",
	Clock:  "from its return, for the duration; stall: the longest time in which no admin request of an open-loop stream was acknowledged; settled: it knows that it does not vote any more. Elections, epochs and its campaigns are counted meanwhile. It votes again afterwards",
	Params: []Param{howParam(string(FaultKill), string(FaultIsolate)).says("how it is away"), trialsParam("3"), awayParam.says("how long it is away at least"), durationParam.says("how long the others are watched after it is back"), probeRateParam.or("50").says("admin requests per second, at most 100"), timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, func(ctx context.Context, t *trialRun) error { return t.returnRemoved(ctx) })
	},
	refuses: refusesQuorumChange,
	lasts:   func(p Params) time.Duration { return time.Duration(p.Trials) * (p.Away + p.Duration) },
}

// returnRemoved is one trial: a follower goes, is removed, and comes back.
func (t *trialRun) returnRemoved(ctx context.Context) error {
	if err := t.raiseKRaftVersion(ctx); err != nil {
		return err
	}
	gone, err := t.pickVoter(ctx)
	if err != nil {
		return err
	}
	fault := Fault(t.p.How)
	if err := t.inject(ctx, gone.id, fault); err != nil {
		return err
	}
	stream, before, rerr := t.removeUnheard(ctx, gone, fault)
	t.phase("return")
	backNs, err := t.Cluster.Inject(context.WithoutCancel(ctx), gone.id, fault.Undo())
	if err == nil && rerr == nil {
		t.event(EventHealed, t.out.N, gone.id, backNs, "%s", fault.Undo())
		t.out.StartNs = backNs
		t.phase("watch")
		err = pause(ctx, t.p.Duration)
	}
	if stream != nil {
		t.judge("admin", stream.stop())
	}
	if err := firstError(rerr, err); err != nil {
		return err
	}
	if err := t.takeDisturbance(ctx, gone.id, stream, before); err != nil {
		return err
	}
	t.phase("add")
	addedNs, err := t.addVoter(ctx, gone)
	if err != nil {
		return err
	}
	t.event(EventRestored, t.out.N, gone.id, addedNs, "added")
	if err := t.healthy(ctx); err != nil {
		return err
	}
	return t.removeTopics(ctx, stream.created())
}

// pickVoter gives a follower, another in each trial.
func (t *trialRun) pickVoter(ctx context.Context) (voter, error) {
	active, err := t.Cluster.ActiveController(ctx)
	if err != nil {
		return voter{}, err
	}
	t.active(t.out.N, active.ID)
	voters, err := t.voters(ctx, active.Addr)
	if err != nil {
		return voter{}, err
	}
	return t.chooseVoter(voters, active.ID)
}

// removeUnheard removes a voter that is away and gives the stream of admin
// requests, which the others answer by then, and how far the quorum has come.
func (t *trialRun) removeUnheard(ctx context.Context, gone voter, fault Fault) (*adminStream, committed, error) {
	t.phase("remove")
	look := t.awaitExit
	if fault.Severs() {
		look = t.awaitSevered
	}
	if e := <-look(ctx, gone.id); e.err != nil {
		return nil, committed{}, fmt.Errorf("the fault did not bite: controller %d: %w", gone.id, e.err)
	}
	removedNs, err := t.removeVoter(ctx, gone)
	if err != nil {
		return nil, committed{}, err
	}
	t.event(EventPhase, t.out.N, gone.id, removedNs, "removed")
	if err := pause(ctx, time.Duration(t.out.StartNs+int64(t.p.Away)-trace.Now())); err != nil {
		return nil, committed{}, err
	}
	stream := t.startAdmin(ctx)
	if err := await(ctx, t.gate(), "an admin request to succeed", func() bool { _, ok := stream.firstAck(0, 0); return ok }); err != nil {
		return stream, committed{}, fmt.Errorf("%w (last: %w)", err, stream.last())
	}
	at, err := t.quorumAt(ctx)
	return stream, at, err
}

// startAdmin begins a stream of admin requests, to each live broker in turn.
func (t *trialRun) startAdmin(ctx context.Context) *adminStream {
	turn := 0 // by the stream's one goroutine
	s := &adminStream{
		admin: t.admin, rec: t.Recorder, replication: t.replication(),
		target: func() (string, bool) {
			live := liveBrokers(t.Cluster)
			if len(live) == 0 {
				return "", false
			}
			turn++
			return live[turn%len(live)].Addr, true
		},
		name: func(n int) string { return numbered(t.topicPrefix(), n) },
	}
	s.start(ctx, t.p.ProbeRate)
	return s
}

// takeDisturbance takes what came of the removed voter's return.
func (t *trialRun) takeDisturbance(ctx context.Context, id kafka.BrokerID, stream *adminStream, before committed) error {
	endNs := t.out.StartNs + int64(t.p.Duration)
	t.ended(endNs)
	t.value(MetricRemovedVoter, PhaseStall, float64(stream.longestGap(t.out.StartNs, endNs)))
	t.count("admin.acked", stream.acked())
	t.count("admin.failed", stream.failures)
	after, err := t.quorumAt(ctx)
	if err != nil {
		return err
	}
	t.value(MetricDisturbance, PhaseEpochs, float64(after.epoch-before.epoch))
	events, err := t.Cluster.Events(ctx)
	if err != nil || len(events) == 0 {
		return err // nodes without traces
	}
	var elections, campaigns int64
	for _, e := range eventsSince(events, t.out.StartNs) {
		if e.Kind == trace.ControllerElected && e.T <= endNs {
			elections++
		}
	}
	settled := false
	for _, e := range inOrder(eventsOf(eventsSince(events, t.out.StartNs), id)) {
		switch {
		case e.Kind == trace.QuorumCampaigns && e.T <= endNs:
			campaigns++
		case e.Kind == trace.QuorumFollows && e.N == 1 && !settled:
			settled = true
			t.value(MetricRemovedVoter, PhaseSettled, float64(e.T-t.out.StartNs))
		}
	}
	if !settled {
		t.note(id, "the removed voter does not know within %v that it was removed", t.p.Duration)
	}
	t.value(MetricDisturbance, PhaseElections, float64(elections))
	t.value(MetricDisturbance, PhaseCampaigns, float64(campaigns))
	return nil
}

// longestGap is the longest time between two acknowledgements from one time to
// another, both counted as one.
func (s *adminStream) longestGap(fromNs, toNs int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := []int64{fromNs, toNs}
	for _, a := range s.acks {
		if a.doneNs > fromNs && a.doneNs < toNs {
			done = append(done, a.doneNs)
		}
	}
	slices.Sort(done)
	longest := int64(0)
	for i, ns := range done[1:] {
		longest = max(longest, ns-done[i])
	}
	return longest
}

// created are the topics of a stream that is over.
func (s *adminStream) created() []newTopic {
	var topics []newTopic
	for n := range s.current {
		topics = append(topics, newTopic{name: s.name(n), partitions: 1, replication: s.replication})
	}
	return topics
}

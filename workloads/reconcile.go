package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ask"
)

var reconcile = Workload{
	Kind:   "reconcile",
	Doc:    "cut the active controller off from the other voters while it appends what nobody else has, let them go on, and join it to them again",
	Clock:  "from the end of the cut; found: the old leader hears of its successor; agreed: what it alone had is gone from its log, and all that was committed without it is durable there; rest: from found to agreed. Messages, bytes and round trips are those between it and the other voters within rest, as it counts them itself",
	Params: []Param{howParam(string(FaultCut)).says("how the controller is kept from the other voters"), trialsParam("3"), partitionsParam.says("partitions whose creation it appends alone; as many are created without it"), perTopicParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, func(ctx context.Context, t *trialRun) error { return t.reconcile(ctx) })
	},
	refuses: func(s Setup, p Params) error {
		if s.Kafka {
			return errors.New("controllers of Kafka do not tell what they say to each other; leave the target out")
		}
		return refusesQuorumChange(s, p)
	},
}

// reconcile is one trial: the leader is cut off, its log and that of the others
// diverge, and it comes back.
func (t *trialRun) reconcile(ctx context.Context) error {
	old, err := t.Cluster.ActiveController(ctx)
	if err != nil {
		return err
	}
	t.active(t.out.N, old.ID)
	if err := t.inject(ctx, old.ID, Fault(t.p.How)); err != nil {
		return err
	}
	grown, at, derr := t.diverge(ctx, old)
	t.phase("reconcile")
	healNs, err := t.Cluster.Inject(context.WithoutCancel(ctx), old.ID, FaultHeal)
	if err := firstError(derr, err); err != nil {
		return err
	}
	t.event(EventHealed, t.out.N, old.ID, healNs, "%s", FaultHeal)
	t.out.StartNs = healNs
	a, err := t.awaitAgreement(ctx, old.ID, at)
	if err != nil {
		return err
	}
	t.takeAgreement(old.ID, a)
	if err := t.healthy(ctx); err != nil {
		return err
	}
	if err := t.rebalance(ctx); err != nil {
		return err
	}
	return t.removeTopics(ctx, grown)
}

// committed is how far a quorum has come.
type committed struct{ epoch, end int64 }

// diverge has the old leader append what it cannot commit, and others commit as
// much without it. It gives what they created, and how far they came.
func (t *trialRun) diverge(ctx context.Context, old Node) ([]newTopic, committed, error) {
	severed := t.awaitSevered(ctx, old.ID)
	end, err := t.appendAlone(ctx, old)
	if err != nil {
		return nil, committed{}, err
	}
	defer end()
	if e := <-severed; e.err != nil {
		return nil, committed{}, fmt.Errorf("the fault did not bite: controller %d: %w", old.ID, e.err)
	}
	t.phase("go on")
	if _, err := t.Cluster.ActiveController(ctx); err != nil {
		return nil, committed{}, err
	}
	grown, _, err := t.populated(ctx, t.topicPrefix()+"-on", t.p.Partitions, t.p.PartitionsPerTopic, int(t.replication()))
	if err != nil {
		return grown, committed{}, err
	}
	at, err := t.quorumAt(ctx)
	return grown, at, err
}

// appendAlone sends the leader creations that it can append and not commit. end
// gives up waiting for answers, and must be called.
func (t *trialRun) appendAlone(ctx context.Context, leader Node) (end func(), err error) {
	batches, err := planBatches(PopulateConfig{
		Prefix: t.topicPrefix() + "-alone", Partitions: t.p.Partitions, PartitionsPerTopic: t.p.PartitionsPerTopic, Replication: int(t.replication()),
	}, len(t.Cluster.Brokers()), t.Cluster.Mode())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, topics := range batches {
		wg.Go(func() {
			sentNs := trace.Now()
			results, doneNs, err := t.admin.createTopicsAt(ctx, leader.Addr, topics, createTimeout)
			for _, topic := range topics {
				r := results[topic.name]
				switch op := topic.operation(r.id, sentNs, doneNs); {
				case err == nil && r.code == kafka.None:
					t.Recorder.Acked(op) // the checker proves that it was a lie
				default:
					t.Recorder.Unanswered(op)
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}, nil
}

// quorumAt asks the active controller how far the quorum has come.
func (t *trialRun) quorumAt(ctx context.Context) (at committed, err error) {
	_, err = t.admin.insistAt(ctx, "describe the quorum", t.leaderAddr, func(ctx context.Context, addr string, _ bool) error {
		resp, err := t.admin.send(ctx, addr, apiDescribeQuorum, ask.DescribeQuorum())
		if err != nil {
			return err
		}
		p, err := ask.Quorum(resp.(*kmsg.DescribeQuorumResponse))
		if err != nil {
			return err
		}
		at = committed{int64(p.LeaderEpoch), p.HighWatermark}
		return nil
	})
	return at, err
}

// agreement is how a voter came to agree with a leader, as it tells by itself.
type agreement struct{ found, truncated, durable trace.Event }

// readAgreement finds the steps in the events since the end of a cut; false
// where one is missing. A leader's first message may be the one that truncates.
func readAgreement(events []trace.Event, id kafka.BrokerID, at committed) (a agreement, ok bool) {
	for _, e := range inOrder(eventsOf(events, id)) {
		switch {
		case e.Kind == trace.QuorumFollows && e.Epoch >= at.epoch && a.found.T == 0:
			a.found = e
		case e.Kind == trace.QuorumTruncated && a.truncated.T == 0:
			a.truncated = e
		case e.Kind == trace.QuorumDurable && a.truncated.T != 0 && e.Offset >= at.end && a.durable.T == 0:
			a.durable = e
		}
	}
	return a, a.found.T != 0 && a.truncated.T != 0 && a.durable.T != 0
}

// eventsOf are those that a node of one broker or controller wrote itself.
func eventsOf(events []trace.Event, id kafka.BrokerID) (out []trace.Event) {
	broker, controller := fmt.Sprintf("broker-%d", id), fmt.Sprintf("controller-%d", id)
	for _, e := range events {
		if e.Node == broker || e.Node == controller {
			out = append(out, e)
		}
	}
	return out
}

func inOrder(events []trace.Event) []trace.Event {
	slices.SortStableFunc(events, func(a, b trace.Event) int { return int(min(max(a.T-b.T, -1), 1)) })
	return events
}

// awaitAgreement reads the old leader's trace until it agrees.
func (t *trialRun) awaitAgreement(ctx context.Context, id kafka.BrokerID, at committed) (a agreement, err error) {
	var ok bool
	for !ok {
		events, err := t.Cluster.Events(ctx)
		if err != nil {
			return a, err
		}
		if a, ok = readAgreement(eventsSince(events, t.out.StartNs), id, at); !ok && pause(ctx, 50*time.Millisecond) != nil {
			return a, fmt.Errorf("wait until controller %d agrees with epoch %d up to offset %d: %w; it tells of epoch %d, a truncation to %d and durable records up to %d",
				id, at.epoch, at.end, context.Cause(ctx), a.found.Epoch, a.truncated.Offset, a.durable.Offset)
		}
	}
	return a, nil
}

func (t *trialRun) takeAgreement(id kafka.BrokerID, a agreement) {
	t.event(EventPhase, t.out.N, id, a.found.T, "found, epoch %d", a.found.Epoch)
	t.event(EventPhase, t.out.N, id, a.truncated.T, "dropped %d records from offset %d on", a.truncated.N, a.truncated.Offset)
	t.event(EventPhase, t.out.N, id, a.durable.T, "agreed up to offset %d", a.durable.Offset)
	if a.truncated.N == 0 {
		t.invalid("the fault did not bite: controller %d had nothing that the others had not", id)
	}
	foundNs := min(a.found.T, a.truncated.T)
	t.value(MetricReconcile, PhaseFound, float64(foundNs-t.out.StartNs))
	t.value(MetricReconcile, PhaseAgreed, float64(a.durable.T-t.out.StartNs))
	t.value(MetricReconcile, PhaseRest, float64(a.durable.T-foundNs))
	t.value(MetricTraffic, PhaseMessages, float64(a.durable.Messages-a.found.Messages))
	t.value(MetricTraffic, PhaseBytes, float64(a.durable.Bytes-a.found.Bytes))
	t.value(MetricTraffic, PhaseRoundTrips, float64(a.durable.RoundTrips-a.found.RoundTrips))
	t.ended(a.durable.T)
	t.count("records.dropped", a.truncated.N)
	t.count("epoch", a.found.Epoch)
}

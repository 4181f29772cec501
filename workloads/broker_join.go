package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
)

var brokerJoin = Workload{
	Kind:   "broker-join",
	Doc:    "start a broker that was away while the cluster grew, or one that has nothing yet",
	Clock:  "from the start of its process; registered: its registration is acknowledged (white box); caught-up: it serves all metadata of the cluster itself, what was created while it was away too; in-sync: every live broker, itself too, serves it in every ISR that it belongs to",
	Params: []Param{howParam(string(FaultKill), string(FaultStop)).says("how the broker goes before"), trialsParam("3"), dataParam, awayParam, partitionsParam.says("partitions created while it is away"), perTopicParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		victims := r.victims()
		return r.eachTrial(ctx, func(ctx context.Context, t *trialRun) error { return t.join(ctx, victims[t.out.N-1]) })
	},
	hurts:   true,
	refuses: refusesJoin,
}

// What a broker that comes back has of its data.
const (
	dataKept = "kept"
	dataLost = "lost"
)

func refusesJoin(s Setup, p Params) error {
	if p.Data == dataLost && s.Colocated && s.Mode == nodeconfig.ModeKRaft {
		return errors.New("a broker that is a voter too cannot lose its data: the quorum counts on its log; write data: kept, or a number of controllers")
	}
	return needsTwoReplicas(s, p)
}

// join is one trial: the broker goes, the cluster grows, it comes back.
func (t *trialRun) join(ctx context.Context, joiner kafka.BrokerID) error {
	joiner, others, err := t.notController(ctx, joiner)
	if err != nil {
		return err
	}
	mine, err := hostedBy(ctx, others[0], joiner)
	if err != nil {
		return err
	}
	away := Fault(t.p.How)
	if err := t.inject(ctx, joiner, away); err != nil {
		return err
	}
	grown, gerr := t.growWithout(ctx, joiner, others, mine)
	// To list millions of partitions takes seconds, which are none of the joiner's.
	all, lerr := topicsServed(ctx, others, joiner)
	t.phase("join")
	start := FaultStart
	if t.p.Data == dataLost {
		start = FaultStartEmpty
	}
	startNs, err := t.Cluster.Inject(context.WithoutCancel(ctx), joiner, start)
	if err := firstError(gerr, lerr, err); err != nil {
		return fmt.Errorf("broker %d: %w", joiner, err)
	}
	t.event(EventHealed, t.out.N, joiner, startNs, "%s", start)
	t.out.Victim, t.out.StartNs = joiner, startNs
	if err := t.takeJoin(ctx, joiner, mine, all, grown); err != nil {
		return err
	}
	if err := t.healthy(ctx); err != nil {
		return err
	}
	if err := t.rebalance(ctx); err != nil {
		return err
	}
	return t.removeTopics(ctx, grown)
}

// growWithout waits until nobody counts on the broker any more, creates
// partitions and lets it be away for long enough. It gives all topics that the
// broker has to learn of.
func (t *trialRun) growWithout(ctx context.Context, joiner kafka.BrokerID, others []Node, mine hosted) ([]newTopic, error) {
	t.phase("away")
	if e := <-t.awaitExit(ctx, joiner); e.err != nil {
		return nil, fmt.Errorf("the fault did not bite: %w", e.err)
	}
	if _, err := mine.awaitISR(ctx, others, joiner, false); err != nil {
		return nil, err
	}
	grown, _, err := t.populated(ctx, t.topicPrefix(), t.p.Partitions, t.p.PartitionsPerTopic, min(3, len(others)))
	if err != nil {
		return grown, err
	}
	return grown, pause(ctx, time.Duration(t.out.StartNs+int64(t.p.Away)-trace.Now()))
}

// takeJoin waits for each step and takes its value.
func (t *trialRun) takeJoin(ctx context.Context, joiner kafka.BrokerID, mine hosted, all, grown []newTopic) error {
	var self Node
	live := liveBrokers(t.Cluster)
	for _, n := range live {
		if n.ID == joiner {
			self = n
		}
	}
	caughtUpNs, err := awaitAllServed(ctx, []Node{self}, all)
	if err != nil {
		return err
	}
	t.value(MetricJoin, PhaseCaughtUp, float64(caughtUpNs-t.out.StartNs))
	inSyncNs, err := mine.awaitISR(ctx, live, joiner, true)
	if err != nil {
		return err
	}
	t.value(MetricJoin, PhaseInSync, float64(max(inSyncNs, caughtUpNs)-t.out.StartNs))
	t.ended(max(inSyncNs, caughtUpNs))
	t.count("partitions.learnt", int64(wantedPartitions(all)))
	t.count("partitions.hosted", int64(len(mine.partitions)))
	t.count("partitions.created", int64(wantedPartitions(grown)))
	events, traced := t.whiteBox(ctx, func(e []trace.Event) bool { _, ok := firstOf(e, joiner, trace.BrokerRegistered); return ok })
	if at, ok := firstOf(events, joiner, trace.BrokerRegistered); ok {
		t.value(MetricJoin, PhaseRegistered, float64(at-t.out.StartNs))
	} else if traced {
		t.note(joiner, "no trace tells when it was registered")
	}
	return nil
}

// topicsServed lists what a broker beside the joiner serves.
func topicsServed(ctx context.Context, live []Node, joiner kafka.BrokerID) (all []newTopic, err error) {
	for _, n := range live {
		if n.ID == joiner {
			continue
		}
		p := newPeer(n)
		defer p.close()
		m, err := sweep(ctx, p)
		if err != nil {
			return nil, err
		}
		counts := map[string]int32{}
		eachPartition(m, func(tp kafka.TopicPartition, _ *kmsg.MetadataResponseTopicPartition) { counts[tp.Topic]++ })
		for i := range m.Topics {
			if name := m.Topics[i].Topic; name != nil {
				all = append(all, newTopic{name: *name, partitions: counts[*name]})
			}
		}
		return all, nil
	}
	return nil, errNoBroker
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"kbench/broker/replica"
	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// isrNoteSize bounds the partitions of one notification: with names of the
// greatest length it stays below ZooKeeper's limit of 1 MiB.
const isrNoteSize = 3000

// isrWriter is a plane in which leaders change ISRs themselves.
type isrWriter interface {
	writesISR() bool
	writeISR(ctx context.Context, proposals []*replica.Proposal) ([]replica.Outcome, error)
}

// isrNotes are the partitions whose ISR this broker wrote and has not told the
// controller of, and when it does (Kafka's IsrChangePropagationConfig).
type isrNotes struct {
	check  time.Duration // between two looks, 2.5 s
	linger time.Duration // without a change before it tells, 5 s
	most   time.Duration // since it told last before it tells all the same, 60 s

	mu            sync.Mutex
	changed       map[kafka.TopicPartition]struct{}
	lastChange    time.Time
	lastPropagate time.Time
}

func newISRNotes() *isrNotes {
	return &isrNotes{check: 2500 * time.Millisecond, linger: 5 * time.Second, most: time.Minute, changed: map[kafka.TopicPartition]struct{}{}}
}

func (n *isrNotes) add(tp kafka.TopicPartition, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed[tp] = struct{}{}
	n.lastChange = now
}

// due gives what is to be told now.
func (n *isrNotes) due(now time.Time) []kafka.TopicPartition {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.changed) == 0 || now.Sub(n.lastChange) < n.linger && now.Sub(n.lastPropagate) < n.most {
		return nil
	}
	var tps []kafka.TopicPartition
	for tp := range n.changed {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, kafka.TopicPartition.Compare)
	n.changed, n.lastPropagate = map[kafka.TopicPartition]struct{}{}, now
	return tps
}

func (p *zkPlane) writesISR() bool { return p.cfg.Protocol.LeadersWriteISR() }

// writeISR writes state znodes, each if it is of the version that this leader
// knows, as brokers did before KIP-497. Where another wrote meanwhile and this
// broker still leads in the same epoch, it takes over what is there, so that the
// next attempt can succeed.
func (p *zkPlane) writeISR(ctx context.Context, proposals []*replica.Proposal) ([]replica.Outcome, error) {
	s := p.session.Load()
	if s == nil {
		return nil, errNoSession
	}
	p.mu.Lock()
	controllerEpoch := p.controllerEpoch
	p.mu.Unlock()
	outcomes := make([]replica.Outcome, len(proposals))
	path := func(i int) string { return zk.StatePath(proposals[i].Topic, proposals[i].Partition) }
	state := func(i int) zk.PartitionState {
		st := zk.PartitionState{Leader: p.b.cfg.ID, LeaderEpoch: proposals[i].LeaderEpoch, ControllerEpoch: controllerEpoch}
		for _, m := range proposals[i].ISR {
			st.ISR = append(st.ISR, m.ID)
		}
		return st
	}
	err := s.Pipeline(ctx, len(proposals), func(i int) zk.Op {
		return zk.Set(path(i), zk.EncodeState(state(i)), int32(proposals[i].PartitionEpoch))
	}, func(i int, r zk.Result) {
		switch {
		case r.Err == nil:
			outcomes[i] = outcomeOf(state(i), r.Version)
			p.isr.add(kafka.TopicPartition{Topic: proposals[i].Topic, Partition: proposals[i].Partition}, p.b.cfg.Now())
		case errors.Is(r.Err, zk.ErrBadVersion):
			outcomes[i] = p.refreshISR(ctx, s, path(i), proposals[i])
		case errors.Is(r.Err, zk.ErrNoNode):
			outcomes[i].Code = kafka.UnknownTopicOrPartition
		default:
			outcomes[i].Code = kafka.UnknownServerError
		}
	})
	return outcomes, err
}

func outcomeOf(st zk.PartitionState, version int32) replica.Outcome {
	return replica.Outcome{Leader: st.Leader, LeaderEpoch: st.LeaderEpoch, PartitionEpoch: kafka.PartitionEpoch(version), ISR: st.ISR}
}

func (p *zkPlane) refreshISR(ctx context.Context, s *zk.Session, path string, x *replica.Proposal) replica.Outcome {
	r := s.Do(ctx, zk.Get(path))
	if r.Err != nil {
		return replica.Outcome{Code: kafka.NetworkException}
	}
	st, err := zk.DecodeState(r.Data)
	if err != nil || st.Leader != p.b.cfg.ID || st.LeaderEpoch != x.LeaderEpoch {
		return replica.Outcome{Code: kafka.InvalidUpdateVersion}
	}
	return outcomeOf(st, r.Version)
}

// propagateISR tells the controller of the ISRs that this broker wrote, many at
// a time, until ctx ends.
func (p *zkPlane) propagateISR(ctx context.Context) {
	t := time.NewTicker(p.isr.check)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if s := p.session.Load(); s != nil {
			p.tellISR(ctx, s, p.b.cfg.Now())
		}
	}
}

// tellISR writes what is due now, and has it written later where it fails.
func (p *zkPlane) tellISR(ctx context.Context, s *zk.Session, now time.Time) {
	for part := range slices.Chunk(p.isr.due(now), isrNoteSize) {
		r := s.Do(ctx, zk.CreateSequential(zk.ISRChangesPath+"/isr_change_", zk.EncodePartitionSet(part)))
		if r.Err != nil {
			p.b.log.Warn("ISR changes are not propagated", "partitions", len(part), "reason", r.Err)
			for _, tp := range part {
				p.isr.add(tp, now)
			}
		}
	}
}

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/harness/spec"
	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/results"
)

// verify waits for the cluster to settle, then judges it from outside: what
// every broker serves against what was acknowledged, and what nodes traced.
// The history goes into the run folder, so that it can be judged again.
func (run *cellRun) verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTimeout, fmt.Errorf("not within %s", verifyTimeout))
	defer cancel()
	run.phase("verify")
	if err := run.cluster.WaitHealthy(ctx); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return run.check(ctx)
}

// salvage judges a cell that a workload could not finish by what can still be
// asked: a node that is gone serves nothing, but what was acknowledged must be
// with the others. An interrupt leaves no time for it.
func (run *cellRun) salvage(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, salvageTimeout, fmt.Errorf("not within %s", salvageTimeout))
	defer cancel()
	run.phase("verify")
	return run.check(ctx)
}

// keepInterrupted keeps what an interrupted cell's clients were told until then,
// for kbench verify: nobody asks what brokers serve any more, nor judges it here.
func (run *cellRun) keepInterrupted(ctx context.Context) error {
	if ctx.Err() == nil || run.judged || run.cluster == nil {
		return nil
	}
	h := run.kept()
	if h.Interrupted = true; len(h.Operations) == 0 {
		return nil
	}
	return run.keepHistory(h)
}

// kept is the history as far as the harness wrote it down itself.
func (run *cellRun) kept() checker.History {
	var h checker.History
	h.Operations, _ = run.rec.history()
	h.Observations, h.Unkept = run.cluster.observations()
	return h
}

// errUnsettled says that a look at the cluster did not satisfy the checker.
var errUnsettled = errors.New("an invariant does not hold")

// check gathers the history, judges it and keeps it. What was acknowledged a
// moment ago may be on its way still: an idle quorum tells brokers of the high
// watermark with its next record. So a look that fails is repeated, for
// settleTimeout at most; what is lost stays lost, and epochs that went back
// stay in the history.
func (run *cellRun) check(ctx context.Context) error {
	var h checker.History
	var verdict checker.Verdict
	err := settle(ctx, "the cluster has settled", func(ctx context.Context) error {
		next, err := run.gather(ctx)
		if err != nil {
			return err
		}
		h, verdict = next, checker.CheckCell(next, run.traced())
		if !verdict.OK() {
			return errUnsettled
		}
		return nil
	})
	interrupted := errors.Is(ctx.Err(), context.Canceled)
	if verdict == nil || interrupted && !verdict.OK() { // it might have settled still
		return fmt.Errorf("verify: %w", err)
	}
	for _, r := range verdict {
		run.checked(r)
	}
	run.judged = true
	if _, left := run.rec.history(); left > 0 {
		run.out.Notes = append(run.out.Notes, fmt.Sprintf("%s: what clients were told is judged by its first %d operations; %d were left out: those that came later, and those of topics that these changed",
			run.spec.ID, maxTold, left))
	}
	return errors.Join(run.keepHistory(h), run.judgeZnodes(ctx), run.judgeQuorum(ctx))
}

// traced: the nodes of a cell tell in traces, or logs, who is elected. Those of a
// cluster that was found are not read.
func (run *cellRun) traced() bool { return run.spec.Target != spec.AttachTarget }

// settle polls for settleTimeout at most.
func settle(ctx context.Context, what string, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleTimeout, fmt.Errorf("not within %s", settleTimeout))
	defer cancel()
	return poll(ctx, what, look)
}

// checked keeps an answer for the run folder.
func (run *cellRun) checked(r checker.Result) {
	run.out.Checks = append(run.out.Checks, results.Check{Name: r.Name, OK: r.OK(), Looked: r.Looked, Faults: r.Faults, More: r.More, Note: r.Note})
}

// unjudged says in the run that a check was left out, which without a word would
// look as if it had been there.
func (run *cellRun) unjudged(name, why string) {
	run.out.Notes = append(run.out.Notes, fmt.Sprintf("%s: the check %s was left out: %s", run.spec.ID, name, why))
}

// gather collects everything that is judged.
func (run *cellRun) gather(ctx context.Context) (checker.History, error) {
	h := run.kept()
	names := altered(h.Operations)
	for _, b := range run.cluster.Brokers() {
		if !b.Live {
			continue
		}
		m, err := fetchMetadata(ctx, b, nil)
		if err != nil {
			return h, err
		}
		v := checker.View{Broker: b.ID, Topics: viewed(run.cluster.owned(m))}
		if err := takeConfigs(ctx, b, &v, names); err != nil {
			return h, err
		}
		h.Views = append(h.Views, v)
	}
	events, err := run.cluster.Events(ctx)
	if err != nil {
		return h, err
	}
	h.Elections, h.Epochs = checker.FromTraces(events)
	h.Fences, h.LedAlone = checker.FencesFromTraces(events), checker.LedAloneFromTraces(events)
	return h, nil
}

// viewed turns an answer into what the checker compares.
func viewed(m *kmsg.MetadataResponse) []checker.Topic {
	out := make([]checker.Topic, 0, len(m.Topics))
	for i := range m.Topics {
		t := &m.Topics[i]
		if t.Topic == nil || t.ErrorCode != 0 {
			continue // a topic that cannot be served is one that is missing
		}
		topic := checker.Topic{Name: *t.Topic, ID: t.TopicID, Partitions: make([]checker.Partition, 0, len(t.Partitions))}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			topic.Partitions = append(topic.Partitions, checker.Partition{
				Index: p.Partition, Leader: kafka.BrokerID(p.Leader), LeaderEpoch: kafka.LeaderEpoch(p.LeaderEpoch),
				Replicas: brokerIDs(p.Replicas), ISR: brokerIDs(p.ISR),
			})
		}
		out = append(out, topic)
	}
	return out
}

func brokerIDs(ids []int32) []kafka.BrokerID {
	out := make([]kafka.BrokerID, len(ids))
	for i, id := range ids {
		out[i] = kafka.BrokerID(id)
	}
	return out
}

func (run *cellRun) keepHistory(h checker.History) error {
	f, err := os.Create(filepath.Join(run.w.Dir(), run.stem()+checker.FileSuffix))
	if err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	if err := errors.Join(checker.Write(f, h), f.Close()); err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	return nil
}

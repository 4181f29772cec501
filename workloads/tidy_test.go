package workloads

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

// Changes that an interrupt ends leave nothing of what they were made to.
func TestInterruptedChangesLeaveNothing(t *testing.T) {
	c := newFakeCluster(t, nodeconfig.ModeKRaft, 3, 20)
	ctx, interrupt := context.WithCancel(t.Context())
	rec := &memory{}
	w, err := Lookup("propagation")
	if err != nil {
		t.Fatal(err)
	}
	err = w.Run(ctx, Env{Cluster: c, Recorder: rec, Params: Params{How: changeCreate, Rate: 50, Duration: time.Minute}, Progress: func(p Progress) {
		if p.Phase == "drive" && p.Done > 0 {
			interrupt()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(rec.acked) == 0 {
		t.Errorf("%v after %d changes", err, len(rec.acked))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, topic := range c.topics {
		if topic.goneNs == 0 && len(name) > 3 {
			t.Errorf("topic %s was left", name)
		}
	}
}

// A refusal is in the history, as what it tells: in ZooKeeper mode, where nobody
// forwards, that the topic was there, or was not.
func TestRefusalsAreTold(t *testing.T) {
	for mode, want := range map[nodeconfig.Mode][]kafka.ErrorCode{
		nodeconfig.ModeZK: {kafka.TopicAlreadyExists, kafka.UnknownTopicOrPartition}, nodeconfig.ModeKRaft: nil,
	} {
		c := newFakeCluster(t, mode, 3, 20)
		a, rec := newAdmin(c), &memory{}
		_, created := a.create(t.Context(), []newTopic{{"t0", 1, 1}}, rec)
		_, deleted := a.deleteTopics(t.Context(), []newTopic{{"nowhere", 1, 1}}, rec)
		a.close()
		if !slices.Equal(rec.codes, want) || len(rec.acked)+len(rec.codes) != 2 {
			t.Errorf("%s: refused %v, acknowledged %d; %v, %v", mode, rec.codes, len(rec.acked), created, deleted)
		}
	}
}

// What is removed outlives an interrupt, for a while and no longer.
func TestTidily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, interrupt)
		start := time.Now()
		err := tidily(ctx, func(ctx context.Context) error {
			<-ctx.Done() // a cluster that does not answer
			return context.Cause(ctx)
		})
		if took := time.Since(start); err == nil || took != time.Minute+tidyTimeout {
			t.Errorf("ended after %v: %v", took, err)
		}
		failed := errors.New("failed")
		if err := tidily(ctx, func(ctx context.Context) error { return errors.Join(ctx.Err(), failed) }); !errors.Is(err, failed) || errors.Is(err, context.Canceled) {
			t.Errorf("after the interrupt: %v", err)
		}
	})
}

package raftclient

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// life steps an alone through the leadership of node 1 of three voters, with a
// fetch timeout of 2 s; times are in milliseconds.
type life struct {
	alone
	told []string
}

func (l *life) step(at, deadline int, in raft.Input, fx raft.Effects) {
	voters := []raft.Voter{{ReplicaKey: raft.ReplicaKey{ID: 1}}, {ReplicaKey: raft.ReplicaKey{ID: 2}}, {ReplicaKey: raft.ReplicaKey{ID: 3}}}
	if e, ok := l.stepped(time.Duration(at)*time.Millisecond, in, fx, voters, time.Duration(deadline)*time.Millisecond); ok {
		l.told = append(l.told, fmt.Sprintf("epoch %d: %d of %d", e.Epoch, e.N/1e6, e.Limit/1e6))
	}
}

func (l *life) becomes(s raft.State, epoch kafka.LeaderEpoch) raft.Effects {
	return raft.Effects{Role: &raft.Role{State: s, Epoch: epoch}}
}

func fetchOf(id kafka.BrokerID) raft.Input {
	return raft.Request{Message: raft.FetchRequest{Replica: raft.ReplicaKey{ID: id}}}
}

func TestALeaderAlone(t *testing.T) {
	tick := raft.Tick{}
	for name, c := range map[string]struct {
		live func(*life)
		want []string
	}{
		"a voter fetches, then none": {func(l *life) {
			l.step(500, 1500, fetchOf(2), raft.Effects{})
			l.step(1500, 2500, tick, raft.Effects{})
			l.step(2500, 3500, tick, raft.Effects{})
			l.step(3500, 9000, tick, l.becomes(raft.Resigned, 5))
		}, []string{"epoch 5: 3000 of 3000"}},
		"no voter ever does": {func(l *life) {
			l.step(1000, 3000, fetchOf(7), raft.Effects{}) // an observer
			l.step(3000, 9000, tick, l.becomes(raft.Resigned, 5))
		}, []string{"epoch 5: 3000 of 3000"}},
		"it was stopped": {func(l *life) {
			l.step(500, 1500, fetchOf(3), raft.Effects{})
			l.step(61500, 70000, tick, l.becomes(raft.Resigned, 5))
		}, []string{"epoch 5: 1000 of 3000"}},
		"its loop is slow": {func(l *life) {
			l.step(2000, 2900, tick, raft.Effects{})
			l.step(3900, 3900, tick, l.becomes(raft.Unattached, 6))
		}, []string{"epoch 5: 1900 of 3000"}},
		"it leads on": {func(l *life) {
			for at := 1000; at <= 9000; at += 1000 {
				l.step(at, at+1000, tick, raft.Effects{})
			}
			l.step(9500, 10000, fetchOf(2), raft.Effects{})
			l.step(10000, 11000, tick, l.becomes(raft.Resigned, 5))
		}, []string{"epoch 5: 4000 of 3000", "epoch 5: 500 of 3000"}},
		"the voters change": {func(l *life) {
			l.step(2000, 3000, tick, raft.Effects{Log: []raft.LogOp{raft.LogAppend{Changes: make([]raft.QuorumChange, 1)}}})
			l.step(3000, 5000, tick, raft.Effects{})
			l.step(5000, 9000, tick, l.becomes(raft.Resigned, 5))
		}, []string{"epoch 5: 3000 of 3000"}},
		"it leads again": {func(l *life) {
			l.step(1000, 2000, tick, l.becomes(raft.Leader, 6))
			l.step(2000, 4000, tick, l.becomes(raft.Resigned, 6))
		}, []string{"epoch 5: 1000 of 3000", "epoch 6: 1000 of 3000"}},
		"it follows": {func(l *life) {
			l.step(1000, 9000, tick, l.becomes(raft.Follower, 6))
			l.step(9000, 9000, fetchOf(2), raft.Effects{})
		}, []string{"epoch 5: 1000 of 3000"}},
	} {
		l := &life{alone: newAlone(1, 2*time.Second)}
		l.step(0, 1000, tick, l.becomes(raft.Leader, 5))
		c.live(l)
		if !slices.Equal(l.told, c.want) {
			t.Errorf("%s: the trace is told %q, want %q", name, l.told, c.want)
		}
	}
}

// lazy is a machine whose check of the quorum is broken: its clock is slow.
type lazy struct{ Machine }

func (m lazy) Step(now time.Duration, in raft.Input) (raft.Effects, time.Duration) {
	const slow = 4
	fx, deadline := m.Machine.Step(now/slow, in)
	if deadline < raft.Never/slow {
		deadline *= slow
	}
	return fx, deadline
}

// A leader that loses its followers tells in the trace that it led alone for no
// longer than it may; one whose machine is broken shows there.
func TestTraceOfALeaderThatIsLeftAlone(t *testing.T) {
	for _, broken := range []bool{false, true} {
		dir, files := t.TempDir(), map[kafka.BrokerID]string{}
		q := newQuorum(t, 0, func(c *Config) {
			path := filepath.Join(dir, fmt.Sprint(c.NodeID))
			w, err := trace.Create(path, fmt.Sprint(c.NodeID))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			files[c.NodeID], c.Trace = path, w
		})
		if broken {
			q.machine = func(m Machine) Machine { return lazy{m} }
		}
		for range 3 {
			q.addAddress()
		}
		for _, v := range q.voters {
			q.start(v.ID)
		}
		lead, at := q.leader()
		for _, n := range q.nodes {
			if n != lead {
				n.kill()
			}
		}
		await(t, "the leader to step down", func() bool { return lead.client.Role().State != raft.Leader })
		lead.kill()
		told := slices.DeleteFunc(readTrace(t, files[lead.cfg.NodeID]), func(e trace.Event) bool {
			return e.Kind != trace.QuorumLedAlone || e.Epoch != int64(at.Epoch)
		})
		limit := int64(lead.cfg.FetchTimeout * 3 / 2)
		if len(told) == 0 || told[0].Limit != limit || (told[0].N > limit) != broken {
			t.Errorf("broken %t: the trace tells %+v, the limit is %d", broken, told, limit)
		}
	}
}

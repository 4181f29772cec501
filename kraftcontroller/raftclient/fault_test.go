package raftclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// disks gives every node of a quorum a disk in memory that survives restarts.
func disks(c *Config, all map[kafka.BrokerID]*metalog.MemFS) {
	if all[c.NodeID] == nil {
		all[c.NodeID] = &metalog.MemFS{}
	}
	c.FS, c.Dir = all[c.NodeID], fmt.Sprintf("/disk%d", c.NodeID)
}

// TestPowerCutLosesNothingAcknowledged cuts the power of all nodes at once,
// which loses every byte not synced and tears what was being written: an
// acknowledgement before its fsync shows as a lost value.
func TestPowerCutLosesNothingAcknowledged(t *testing.T) {
	fs := map[kafka.BrokerID]*metalog.MemFS{}
	rng := rand.New(rand.NewPCG(1, 2))
	q := newQuorum(t, 3, func(c *Config) { disks(c, fs) })
	var want []string
	for round := range 5 {
		for i := range 30 {
			want = append(want, q.acknowledge(fmt.Sprintf("r%d-%d", round, i)))
		}
		lead, at := q.leader()
		for range 20 { // written, and never acknowledged
			if _, err := lead.client.Append(at.Epoch, [][]byte{[]byte("loose")}); err != nil && !errors.Is(err, kafka.NotLeaderOrFollower) {
				t.Fatal(err)
			}
		}
		for _, n := range q.nodes {
			n.kill()
		}
		for _, v := range q.voters {
			fs[v.ID].Crash(func(_ string, unsynced int) int { return rng.IntN(unsynced + 1) })
		}
		for _, v := range q.voters {
			q.start(v.ID)
		}
		q.leader()
		q.awaitAll(want)
	}
}

func TestFsyncErrorStopsTheNodeAndAcknowledgesNothing(t *testing.T) {
	var bad atomic.Bool
	fs := &metalog.MemFS{Fault: func(op metalog.Op, name string) error {
		if bad.Load() && op == metalog.OpSync && strings.HasSuffix(name, ".log") {
			return unix.EIO
		}
		return nil
	}}
	q := newQuorum(t, 1, func(c *Config) { c.FS, c.Dir = fs, "/disk" })
	lead, at := q.leader()
	if err := lead.write(at.Epoch, "good"); err != nil {
		t.Fatal(err)
	}
	bad.Store(true)
	offset, err := lead.client.Append(at.Epoch, [][]byte{[]byte("bad")})
	if err != nil {
		t.Fatal(err)
	}
	lead.endsOf(t, unix.EIO)
	if hw := lead.client.HighWatermark(); hw > offset {
		t.Errorf("a record whose fsync failed counts as committed: high watermark %d, offset %d", hw, offset)
	}
	if _, err := lead.client.Append(at.Epoch, [][]byte{[]byte("x")}); !errors.Is(err, kafka.NotLeaderOrFollower) {
		t.Errorf("append after it: %v", err)
	}
}

// endsOf waits until the node has ended by itself, of want.
func (n *node) endsOf(t *testing.T, want error) {
	t.Helper()
	select {
	case err := <-n.done:
		n.done <- nil // for who stops the node
		if !errors.Is(err, want) {
			t.Fatalf("Run gives %v, want %v", err, want)
		}
	case <-time.After(patience):
		t.Fatalf("the node runs on, want it to end of %v", want)
	}
}

// TestSnapshotFsyncErrorStopsTheNode: whether the fsync of a snapshot fails while
// it is written or when it is finished, the node is not left running beside a log
// that takes nothing any more, even if nobody appends.
func TestSnapshotFsyncErrorStopsTheNode(t *testing.T) {
	for what, size := range map[string]int{"finished": 10, "written": 9 << 20} {
		t.Run(what, func(t *testing.T) {
			var bad atomic.Bool
			fs := &metalog.MemFS{Fault: func(op metalog.Op, name string) error {
				if op == metalog.OpSync && strings.Contains(name, ".checkpoint") && bad.Swap(false) {
					return unix.EIO
				}
				return nil
			}}
			q := newQuorum(t, 1, func(c *Config) { c.FS, c.Dir = fs, "/disk" })
			lead, at := q.leader()
			if err := lead.write(at.Epoch, "good"); err != nil {
				t.Fatal(err)
			}
			await(t, "the listener", func() bool { v, _ := lead.rec.snapshot(); return len(v) == 1 })
			w, err := lead.client.NewSnapshot(lead.rec.end())
			if err != nil {
				t.Fatal(err)
			}
			bad.Store(true)
			err = w.Append(make([]byte, size/2), make([]byte, size/2))
			if err == nil {
				err = lead.client.FinishSnapshot(t.Context(), w)
			} else {
				err = errors.Join(err, lead.client.AbandonSnapshot(w))
			}
			if !errors.Is(err, unix.EIO) {
				t.Fatalf("the snapshot gives %v", err)
			}
			lead.endsOf(t, unix.EIO)
		})
	}
}

func TestFullDiskStopsTheNode(t *testing.T) {
	fs := &metalog.MemFS{LimitBytes: 4000}
	q := newQuorum(t, 1, func(c *Config) { c.FS, c.Dir = fs, "/disk" })
	lead, at := q.leader()
	var err error
	for range 200 {
		if err = lead.write(at.Epoch, strings.Repeat("x", 100)); err != nil {
			break
		}
	}
	if err == nil {
		t.Fatal("the disk never filled")
	}
	lead.endsOf(t, unix.ENOSPC)
}

type brokenListener struct{ recorder }

func (*brokenListener) HandleCommit([]metalog.Batch) error { return errors.New("cannot replay") }

func TestListenerErrorStopsTheNode(t *testing.T) {
	l := &brokenListener{}
	q := newQuorum(t, 1, func(c *Config) { c.Listener = l })
	n := q.nodes[1]
	select {
	case err := <-n.done:
		if err == nil || !strings.Contains(err.Error(), "cannot replay") || !strings.Contains(err.Error(), "offset 0") {
			t.Fatalf("Run gives %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the node runs on")
	}
	n.done <- nil
}

// TestStalledDiskOfTheLeader stops the fsyncs of the leader alone: the others' are
// a majority, and commit without it.
func TestStalledDiskOfTheLeader(t *testing.T) {
	stall := make(chan struct{})
	var stalled atomic.Int32 // the node whose log does not sync
	fs := map[kafka.BrokerID]*metalog.MemFS{}
	q := newQuorum(t, 3, func(c *Config) {
		id := c.NodeID
		calm(c)
		disks(c, fs)
		fs[id].Fault = func(op metalog.Op, name string) error {
			if op == metalog.OpSync && strings.HasSuffix(name, ".log") && kafka.BrokerID(stalled.Load()) == id {
				<-stall
			}
			return nil
		}
	})
	defer func() { stalled.Store(0) }()
	lead, at := q.leader()
	stalled.Store(int32(lead.cfg.NodeID))
	// The majority of the others commits without the leader's disk.
	if err := lead.write(at.Epoch, "by the others"); err != nil {
		t.Fatal(err)
	}
	close(stall)
	q.awaitAll([]string{"by the others"})
}

func TestAppendBounds(t *testing.T) {
	q := newQuorum(t, 1, func(c *Config) { c.AppendLinger = time.Hour })
	lead, at := q.leader()
	if _, err := lead.client.Append(at.Epoch, nil); err == nil {
		t.Error("an empty append was taken")
	}
	if _, err := lead.client.Append(at.Epoch, [][]byte{make([]byte, 9<<20)}); !errors.Is(err, kafka.RecordListTooLarge) {
		t.Errorf("9 MiB: %v", err)
	}
	if _, err := lead.client.Append(at.Epoch+1, [][]byte{[]byte("x")}); !errors.Is(err, kafka.NotLeaderOrFollower) {
		t.Errorf("another epoch: %v", err)
	}
	// A full batch does not wait for the linger.
	var last kafka.Offset
	for range 9 {
		var err error
		if last, err = lead.client.Append(at.Epoch, [][]byte{make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the full batch", func() bool { return lead.client.HighWatermark() > last-2 })
	if hw := lead.client.HighWatermark(); hw > last {
		t.Errorf("the open batch did not linger: high watermark %d, last offset %d", hw, last)
	}
}

func TestResignElectsAnother(t *testing.T) {
	q := newQuorum(t, 3, calm)
	lead, at := q.leader()
	if err := lead.client.Resign(context.Background(), at.Epoch); err != nil {
		t.Fatal(err)
	}
	await(t, "a higher epoch", func() bool { return lead.client.Leader().Epoch > at.Epoch })
	next, nextAt := q.leader()
	if err := next.write(nextAt.Epoch, "v"); err != nil {
		t.Fatal(err)
	}
	q.awaitAll([]string{"v"})
}

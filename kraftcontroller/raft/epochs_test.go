package raft

import (
	"testing"

	"pgregory.net/rapid"

	"kbench/kafka"
)

// naiveLog holds the epoch of every record since offset 0, cut ones too.
type naiveLog struct {
	epochs []kafka.LeaderEpoch
	start  int
}

func (n *naiveLog) endOf(epoch kafka.LeaderEpoch) EpochEndOffset {
	e := EpochEndOffset{0, 0}
	if n.start > 0 {
		e = EpochEndOffset{n.epochs[n.start-1], kafka.Offset(n.start)}
	}
	for i := n.start; i < len(n.epochs); i++ {
		if n.epochs[i] <= epoch {
			e = EpochEndOffset{n.epochs[i], kafka.Offset(i + 1)}
		}
	}
	return e
}

func (n *naiveLog) last() kafka.LeaderEpoch {
	if len(n.epochs) == 0 {
		return 0
	}
	return n.epochs[len(n.epochs)-1]
}

// TestEpochLog compares the epoch log with one that holds every record, over
// random appends, truncations and moves of the start.
func TestEpochLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n naiveLog
		l, err := newEpochLog(Persisted{})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0, 1:
				count := rapid.IntRange(1, 3).Draw(t, "count")
				epoch := n.last() + kafka.LeaderEpoch(rapid.IntRange(0, 2).Draw(t, "epoch"))
				base := kafka.Offset(len(n.epochs))
				b := Batch{base, base + kafka.Offset(count) - 1, epoch, nil}
				if err := l.accepts([]Batch{b}, epoch); err != nil {
					t.Fatal(err)
				}
				l.append(b)
				for range count {
					n.epochs = append(n.epochs, epoch)
				}
			case 2:
				to := rapid.IntRange(n.start, len(n.epochs)).Draw(t, "truncate")
				l.truncate(kafka.Offset(to))
				n.epochs = n.epochs[:to]
			case 3:
				to := rapid.IntRange(n.start, len(n.epochs)).Draw(t, "start")
				l.moveStart(kafka.Offset(to))
				l.snapshot = SnapshotID{kafka.Offset(to), l.startEpoch}
				n.start = to
			}
			compareLogs(t, &l, &n)
		}
	})
}

func compareLogs(t *rapid.T, l *epochLog, n *naiveLog) {
	if l.start != kafka.Offset(n.start) || l.end != kafka.Offset(len(n.epochs)) || l.lastEpoch() != n.last() {
		t.Fatalf("log [%d,%d) last epoch %d, want [%d,%d) %d", l.start, l.end, l.lastEpoch(), n.start, len(n.epochs), n.last())
	}
	for o := n.start; o <= len(n.epochs); o++ {
		var want kafka.LeaderEpoch
		if o > 0 {
			want = n.epochs[o-1]
		}
		if got := l.epochBefore(kafka.Offset(o)); got != want {
			t.Fatalf("epoch before %d is %d, want %d", o, got, want)
		}
	}
	for e := l.startEpoch; e <= n.last()+1; e++ {
		if got, want := l.endOf(e), n.endOf(e); got != want {
			t.Fatalf("end of epoch %d is %v, want %v in %v from %d", e, got, want, n.epochs, n.start)
		}
	}
	// What it found on the disk of such a log it would take up the same way.
	p := Persisted{LogStart: l.start, LogEnd: l.end, StartEpoch: l.startEpoch, Epochs: l.epochs, Snapshot: l.snapshot}
	again, err := newEpochLog(p)
	if err != nil {
		t.Fatalf("persisted and taken up again: %v", err)
	}
	if again.lastEpoch() != l.lastEpoch() || len(again.epochs) != len(l.epochs) {
		t.Fatalf("taken up again: %v, want %v", again.epochs, l.epochs)
	}
}

// TestTruncationMeets shows that a follower which diverged truncates to what is
// common: in one round trip if it diverged in one epoch, else in at most one for
// each of them, and never below what is common.
func TestTruncationMeets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		common := rapid.IntRange(0, 5).Draw(t, "common")
		build := func(name string, epochs []int) (epochLog, []int) {
			l, _ := newEpochLog(Persisted{})
			var all []int
			add := func(e int) {
				l.append(Batch{l.end, l.end, kafka.LeaderEpoch(e), nil})
				all = append(all, e)
			}
			for i := range common {
				add(1 + i/2)
			}
			for _, e := range epochs {
				n := rapid.IntRange(0, 3).Draw(t, name)
				for range n {
					add(e)
				}
			}
			return l, all
		}
		// No epoch is written by both after they parted: each had one leader.
		leader, l := build("leader", []int{11, 13, 15, 17})
		follower, f := build("follower", []int{10, 12, 14, 16})
		diverged := map[int]bool{}
		for _, e := range f[common:] {
			diverged[e] = true
		}
		rounds := 0
		for {
			end, snapshot := leader.check(follower.end, follower.lastEpoch())
			if snapshot != nil {
				t.Fatalf("snapshot %v without one", snapshot)
			}
			if end == nil {
				break
			}
			rounds++
			to := follower.divergesAt(*end)
			if to >= follower.end || int(to) < common {
				t.Fatalf("leader %v, follower %v of %d: end %v truncates to %d, common are %d", l, f, follower.end, *end, to, common)
			}
			follower.truncate(to)
		}
		if int(follower.end) != common || rounds > len(diverged) {
			t.Fatalf("leader %v, follower %v: after %d rounds the follower ends at %d, common are %d", l, f, rounds, follower.end, common)
		}
	})
}

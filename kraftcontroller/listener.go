package kraftcontroller

import (
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

// news is one thing that the quorum tells: committed batches, a snapshot, or a
// leader.
type news struct {
	batches  []metalog.Batch
	snapshot *metalog.SnapshotReader
	leader   *raftclient.LeaderAndEpoch
	done     chan error // of a snapshot, which its reader outlives not
}

// listener hands on to the loop, in order, what the quorum tells.
type listener struct{ c *Controller }

// HandleCommit waits for room in the queue; what comes later waits in the log.
func (l *listener) HandleCommit(batches []metalog.Batch) error {
	return l.send(news{batches: batches})
}

// HandleLoadSnapshot waits until the snapshot is loaded.
func (l *listener) HandleLoadSnapshot(r *metalog.SnapshotReader) error {
	done := make(chan error, 1)
	if err := l.send(news{snapshot: r, done: done}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-l.c.stopped:
		return ErrStopped
	}
}

// HandleLeaderChange is told of a leadership of this node only when its own
// epoch has begun in the log and all before it is committed.
func (l *listener) HandleLeaderChange(at raftclient.LeaderAndEpoch) {
	// A controller that has stopped need not hear of it.
	_ = l.send(news{leader: &at})
}

func (l *listener) send(n news) error {
	select {
	case l.c.news <- n:
		return nil
	case <-l.c.stopped:
		return ErrStopped
	}
}

// values gives the record values of a batch.
func values(b *metalog.Batch) [][]byte {
	vs := make([][]byte, len(b.Records))
	for i := range b.Records {
		vs[i] = b.Records[i].Value
	}
	return vs
}

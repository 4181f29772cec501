package raftclient

import (
	"errors"
	"fmt"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// carryOut does what the machine asks, in the order its documentation states.
func (c *Client) carryOut(fx raft.Effects) error {
	if fx.Fatal != nil {
		return fx.Fatal
	}
	if fx.Persist != nil {
		if err := c.persist(*fx.Persist); err != nil {
			return err
		}
	}
	for _, op := range fx.Log {
		if err := c.changeLog(op); err != nil {
			return err
		}
	}
	if fx.Snapshot != nil {
		if err := c.receiveSnapshot(*fx.Snapshot); err != nil {
			return err
		}
	}
	if fx.Flush != nil {
		if err := c.startFlush(*fx.Flush); err != nil {
			return err
		}
	}
	for _, s := range fx.Send {
		if m, ok := s.Message.(raft.APIVersionsRequest); ok {
			if e, ok := endpointOf(m.Endpoints, c.cfg.ListenerName); ok {
				c.addrs.learn(s.To, e.Host, int32(e.Port))
			}
		}
		c.peer(s.To).send(outgoing{s.ID, s.Message})
	}
	for _, r := range fx.Reply {
		if err := c.reply(r); err != nil {
			return err
		}
	}
	for _, r := range fx.Appended {
		if r.Err != kafka.None {
			c.acc.end() // leadership is gone: the Listener hears of it
		}
	}
	return c.news(fx)
}

func (c *Client) persist(q raft.QuorumState) error {
	s := metalog.QuorumState{
		Leader: q.LeaderID, Epoch: q.LeaderEpoch, Voted: q.VotedKey.ID, VotedDirectory: q.VotedKey.DirectoryID,
	}
	if q := c.machine.Quorum(); q.KRaftVersion > 0 {
		s.Version = 1
	} else {
		s.VotedDirectory = kafka.UUID{}
		for _, v := range q.Voters {
			s.Voters = append(s.Voters, v.ID)
		}
	}
	return metalog.WriteQuorumState(c.cfg.FS, c.quorum, s)
}

func (c *Client) changeLog(op raft.LogOp) error {
	c.lastRead = readCache{}
	switch op := op.(type) {
	case raft.LogTruncate:
		if err := c.awaitFlush(); err != nil {
			return err
		}
		from := c.log.EndOffset()
		c.cfg.Logger.Info("truncate the metadata log", "from", from, "to", op.To)
		if err := c.log.TruncateTo(op.To); err != nil {
			return err
		}
		c.tellTruncated(from, op.To)
		return nil
	case raft.LogAppend:
		raw, err := c.encode(op)
		if err != nil {
			return err
		}
		return c.log.Append(raw)
	}
	return fmt.Errorf("log effect %T is unknown to the driver", op)
}

// encode gives the bytes of an append: those that came with a fetch, or a new
// batch of this leader.
func (c *Client) encode(op raft.LogAppend) ([]byte, error) {
	if op.LeaderChange != nil || len(op.Changes) > 0 {
		return c.encodeControl(op)
	}
	switch r := op.Records.(type) {
	case []byte:
		return r, nil
	case *pendingBatch:
		if base := op.Batches[0].BaseOffset; base != r.base {
			return nil, fmt.Errorf("records that were promised offset %d are appended at %d", r.base, base)
		}
		return c.encodeBatch(op.Batches[0], false, r.records)
	}
	return nil, fmt.Errorf("append of %T", op.Records)
}

// encodeControl gives the control batch of this leader.
func (c *Client) encodeControl(op raft.LogAppend) ([]byte, error) {
	if op.LeaderChange == nil {
		return c.encodeBatch(op.Batches[0], true, changeRecords(op.Changes))
	}
	m := metalog.LeaderChange{Leader: op.LeaderChange.LeaderID}
	for _, v := range op.LeaderChange.Voters {
		m.Voters = append(m.Voters, metalog.VoterKey{ID: v.ID, Directory: v.DirectoryID})
	}
	for _, v := range op.LeaderChange.GrantingVoters {
		m.GrantingVoters = append(m.GrantingVoters, metalog.VoterKey{ID: v.ID, Directory: v.DirectoryID})
	}
	return c.encodeBatch(op.Batches[0], true, append([]metalog.Record{m.Record()}, changeRecords(op.Changes)...))
}

func (c *Client) encodeBatch(at raft.Batch, control bool, records []metalog.Record) ([]byte, error) {
	return metalog.Batch{
		BaseOffset: at.BaseOffset, Epoch: at.Epoch, Timestamp: c.cfg.Now().UnixMilli(),
		Control: control, Records: records,
	}.Append(nil)
}

// startFlush begins an fsync beside the machine; where none is needed it is
// done at once.
func (c *Client) startFlush(f raft.Flush) error {
	if !c.voter {
		if err := c.log.Flush(); err != nil {
			return err
		}
		c.owned = append(c.owned, raft.FlushDone(f))
		return nil
	}
	if c.flushing {
		return errors.New("a second flush was asked for while one is out")
	}
	c.flushing, c.flushEnd = true, c.log.EndOffset()
	c.flush <- f.Seq
	return nil
}

// awaitFlush waits for a flush that is out, since a truncation must not run
// beside it.
func (c *Client) awaitFlush() error {
	if !c.flushing {
		return nil
	}
	r := <-c.flushed
	c.flushing = false
	if r.err != nil {
		return r.err
	}
	c.owned = append(c.owned, raft.FlushDone{Seq: r.seq})
	return nil
}

func (c *Client) receiveSnapshot(s raft.Snapshot) error {
	id := metalog.SnapshotID(s.ID)
	if s.Position == 0 {
		if err := c.beginSnapshot(id); err != nil {
			return err
		}
	}
	if c.receiving == nil || c.receiving.ID() != id || c.receiving.Size() != s.Position {
		return fmt.Errorf("snapshot %v goes on at byte %d where none was begun", id, s.Position)
	}
	if err := c.receiving.Append(s.Data); err != nil {
		return err
	}
	if !s.Done {
		return nil
	}
	if err := c.awaitFlush(); err != nil {
		return err
	}
	if err := c.receiving.Freeze(); err != nil {
		return err
	}
	c.receiving, c.lastRead = nil, readCache{}
	if err := c.log.TruncateFullyTo(id); err != nil {
		return err
	}
	c.cfg.Logger.Info("fetched a snapshot", "endOffset", id.EndOffset, "epoch", id.Epoch)
	q, err := c.log.SnapshotQuorum(id)
	if err != nil {
		return err
	}
	c.owned = append(c.owned, raft.SnapshotInstalled{ID: s.ID, Quorum: quorumFromLog(q)})
	return nil
}

func (c *Client) beginSnapshot(id metalog.SnapshotID) error {
	if c.receiving != nil {
		if err := c.receiving.Close(); err != nil {
			return err
		}
	}
	var err error
	c.receiving, err = c.log.ReceiveSnapshot(id)
	return err
}

// news tells the layers above what changed.
func (c *Client) news(fx raft.Effects) error {
	if fx.Role != nil {
		c.roleChanged(*fx.Role)
	}
	if fx.Role != nil || fx.HighWatermark != kafka.NoOffset || len(fx.Log) > 0 || fx.Snapshot != nil {
		c.publish()
	}
	if fx.ShutdownDone {
		return errShutdown
	}
	return nil
}

func (c *Client) roleChanged(now raft.Role) {
	before := c.view().role
	if before.State == raft.Leader && (now.State != raft.Leader || now.Epoch != before.Epoch) {
		c.acc.end()
	}
	switch {
	case now.State == raft.Leader && (before.State != raft.Leader || now.Epoch != before.Epoch):
		c.acc.begin(now.Epoch, c.machine.LogEnd())
		c.cfg.Trace.Emit(trace.Event{Kind: trace.ControllerElected, Epoch: int64(now.Epoch)})
	case before.State == raft.Follower && (now.State == raft.Prospective || now.State == raft.Candidate):
		c.cfg.Trace.Emit(trace.Event{
			Kind: trace.ControllerDetected, Epoch: int64(before.Epoch), Detail: "no successful fetch within the fetch timeout",
		})
	}
	c.tellRole(before, now)
	c.cfg.Logger.Info("quorum role", "state", now.State, "epoch", now.Epoch, "leader", now.LeaderID)
}

package zkserver

import (
	"fmt"
	"sync"

	"kbench/internal/zkserver/txnlog"
)

// syncLoop makes each batch durable and then lets its replies go. After a
// fault of the disk it lets none go any more.
func (c *core) syncLoop() {
	defer c.srv.core1.Done()
	var compaction sync.WaitGroup
	defer compaction.Wait()
	idle := make(chan struct{}, 1) // holds a token while no compaction runs
	idle <- struct{}{}
	broken := false
	for b := range c.toSync {
		if broken {
			continue
		}
		if err := c.persist(b); err != nil {
			broken = true
			c.srv.fail(err)
			continue
		}
		for _, o := range b.out {
			c.srv.stats.sent.Add(int64(o.replies))
			o.conn.deliver(o.bytes, o.replies, o.last)
		}
		if c.log.Size() < c.srv.cfg.CompactAt {
			continue
		}
		select {
		case <-idle:
			if err := c.log.Roll(); err != nil {
				broken = true
				c.srv.fail(fmt.Errorf("roll the transaction log: %w", err))
				continue
			}
			keepFrom := c.lastLogged + 1
			compaction.Go(func() {
				c.compact(keepFrom)
				idle <- struct{}{}
			})
		default: // the last one still runs; the log grows meanwhile
		}
	}
}

func (c *core) persist(b *batch) error {
	if len(b.log) == 0 {
		return nil
	}
	if err := c.log.Append(b.log, b.firstZxid); err != nil {
		return err
	}
	c.lastLogged = b.lastZxid
	if c.srv.cfg.NoSync {
		return nil
	}
	if err := c.log.Sync(); err != nil {
		return err
	}
	c.srv.stats.syncs.Add(1)
	return nil
}

// compact runs beside the server. Its failure costs disk space, not data.
func (c *core) compact(keepFrom int64) {
	zxid, err := txnlog.Compact(c.srv.cfg.FS, c.srv.cfg.DataDir, keepFrom, c.srv.stopping)
	if err != nil {
		c.srv.log.Error("compaction of the transaction log failed; the logs are kept", "error", err)
		return
	}
	c.srv.log.Info("transaction log compacted", "snapshot_zxid", zxid)
}

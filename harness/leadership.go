package harness

import (
	"context"
	"fmt"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/zkcontroller/zk"
)

// leadershipTimeout bounds the look for the active controller's epoch, which
// is for people to see and decides nothing.
const leadershipTimeout = 2 * time.Second

// leadership finds the active controller and its epoch; ok is false where
// neither is to be had. In ZooKeeper mode brokers do not tell clients the
// epoch, and the znode that holds it is read only where another controller
// than before is active: an epoch begins with an election.
func (c *cluster) leadership(ctx context.Context, before Controller) (now Controller, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, leadershipTimeout)
	defer cancel()
	n, err := c.active(ctx)
	if err != nil {
		return Controller{}, false
	}
	if c.mode == nodeconfig.ModeZK {
		switch {
		case n.ID == before.ID && before.Epoch >= 0:
			return before, true
		case c.own != "": // its ZooKeeper is not ours to ask
			return Controller{ID: n.ID, Epoch: -1}, true
		}
		epoch, err := storedEpoch(ctx, c.store.servers)
		if err != nil {
			epoch = -1
		}
		return Controller{ID: n.ID, Epoch: epoch}, true
	}
	now = Controller{ID: n.ID, Epoch: -1}
	if n.Addr == "" {
		return now, true
	}
	if p, err := describeQuorum(ctx, n); err == nil {
		now.Epoch = p.LeaderEpoch
	}
	return now, true
}

// storedEpoch reads /controller_epoch from ZooKeeper.
func storedEpoch(ctx context.Context, servers []string) (epoch int32, err error) {
	s, err := zk.Connect(ctx, zk.Config{Servers: servers, SessionTimeout: 4 * time.Second, ConnectTimeout: leadershipTimeout})
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close(ctx) }()
	var got zk.Result
	err = s.Pipeline(ctx, 1, func(int) zk.Op { return zk.Get(zk.ControllerEpochPath) }, func(_ int, r zk.Result) { got = r })
	if err == nil {
		err = got.Err
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", zk.ControllerEpochPath, err)
	}
	e, err := zk.DecodeControllerEpoch(got.Data)
	return int32(e), err
}

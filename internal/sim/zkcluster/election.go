package zkcluster

import (
	"errors"
	"time"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// elect looks who is controller, resigns if it is another or none, and tries to
// become it where nobody is.
func (c *candidate) elect() {
	if c.failures > 0 && !c.sleep(min(c.w.p.session/8<<min(c.failures, 4), c.w.p.session)) {
		return
	}
	won, holder, err := c.tryElection()
	switch {
	case err != nil:
		return // the session or the process is over
	case !won && holder == c.id && c.elected:
		return
	case !won:
		c.resign()
		if holder == kafka.NoLeader {
			c.put(input{kind: controllerChanged})
		}
		return
	}
	c.resign()
	c.elected = true
	c.w.cov.Elections++
	c.w.trace.note("%d is elected with epoch %d", c.id, c.epoch)
	c.w.judge.elected(c)
	c.step(machine.Elected{Epoch: c.epoch})
	if c.m.Active() {
		c.failures = 0
		c.balance = c.w.now + c.w.p.rebalance
		c.h.after(c.w.p.rebalance, c.p.wake)
	}
}

// sleep lets time pass; false when the process or the session ends.
func (c *candidate) sleep(d time.Duration) bool {
	until := c.w.now + d
	c.h.after(d, c.p.wake)
	for c.w.now < until && c.client.err == nil {
		if !c.p.park() {
			return false
		}
	}
	return c.client.err == nil
}

// tryElection is Kafka's election, a lost reply included.
func (c *candidate) tryElection() (won bool, holder kafka.BrokerID, err error) {
	holder, err = c.holder()
	if err != nil || holder != kafka.NoLeader {
		return false, holder, err
	}
	epoch, version, err := c.controllerEpoch()
	if err != nil {
		return false, kafka.NoLeader, err
	}
	r := c.client.do(c.p, op{kind: opElect, path: zk.ControllerPath, data: c.id, version: version, fence: noFence})
	switch {
	case r.err == nil:
		c.epoch, c.version = epoch+1, r.version
		_, err = c.holder() // arms the watch
		return err == nil, c.id, err
	case !errors.Is(r.err, errNodeExists) && !errors.Is(r.err, errBadVersion):
		return false, kafka.NoLeader, r.err
	}
	if holder, err = c.holder(); err != nil {
		return false, holder, err
	}
	now, version, err := c.controllerEpoch()
	if err == nil && holder == c.id && now == epoch+1 {
		c.w.cov.LostElections++
		c.epoch, c.version = now, version
		return true, c.id, nil
	}
	return false, holder, err
}

// holder reads /controller, arming its watch also where it is missing.
func (c *candidate) holder() (kafka.BrokerID, error) {
	for {
		r := c.client.do(c.p, get(zk.ControllerPath))
		if r.err == nil {
			return r.data.(kafka.BrokerID), nil
		}
		if r.err != errNoNode {
			return kafka.NoLeader, r.err
		}
		if e := c.client.do(c.p, exists(zk.ControllerPath)); e.err != nil || !e.exists {
			return kafka.NoLeader, e.err
		}
	}
}

func (c *candidate) controllerEpoch() (kafka.ControllerEpoch, int32, error) {
	r := c.client.do(c.p, get(zk.ControllerEpochPath))
	if r.err == errNoNode {
		if e := c.client.do(c.p, create(zk.ControllerEpochPath, kafka.ControllerEpoch(0))); e.err != nil && e.err != errNodeExists {
			return 0, 0, e.err
		}
		r = c.client.do(c.p, get(zk.ControllerEpochPath))
	}
	if r.err != nil {
		return 0, 0, r.err
	}
	return r.data.(kafka.ControllerEpoch), r.version, nil
}

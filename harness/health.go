package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/harness/attach"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/ask"
	"kbench/workloads"
)

// WaitHealthy implements workloads.Cluster. It does not wait for a process that
// has exited: whoever stops one starts it before asking, so this one ended
// unasked and nothing brings it back.
func (c *cluster) WaitHealthy(ctx context.Context) error {
	return poll(ctx, "the cluster is healthy", func(ctx context.Context) error {
		for _, proc := range append(c.processes(), c.store.nodes...) {
			if proc.Running() {
				continue
			}
			switch revived, err := c.revive(ctx, proc); {
			case err != nil:
				return err
			case revived:
				return fmt.Errorf("%s exited before it served and is started again", proc.Name())
			default:
				return final{c.deathOf(proc)}
			}
		}
		_, err := c.inspect(ctx)
		switch {
		case err == nil:
			c.served()
		case c.own != "" && attach.Refused(err):
			return final{err}
		}
		return err
	})
}

// inspect looks at every broker once. Its error says what is not healthy; the
// view is that of the first broker.
func (c *cluster) inspect(ctx context.Context) (view, error) {
	var first view
	for i, b := range c.Brokers() {
		m, err := fetchMetadata(ctx, b, nil)
		if err != nil {
			return view{}, err
		}
		m = c.owned(m)
		c.observe(b.ID, m)
		v := summarise(m)
		if missing := c.missingFrom(v.brokers); len(missing) > 0 {
			return v, fmt.Errorf("broker %d does not know %v yet", b.ID, missing)
		}
		if !v.whole() {
			return v, fmt.Errorf("broker %d sees %s", b.ID, v)
		}
		if i == 0 {
			first = v
		} else if v.digest != first.digest || v.partitions != first.partitions {
			return v, fmt.Errorf("brokers %d and %d serve different metadata", c.Brokers()[0].ID, b.ID)
		}
	}
	if _, err := c.active(ctx); err != nil {
		return first, err
	}
	return first, nil
}

// missingFrom gives the brokers that should be in a view and are not. In
// ZooKeeper mode dedicated candidates are brokers too.
func (c *cluster) missingFrom(known []kafka.BrokerID) []kafka.BrokerID {
	var missing []kafka.BrokerID
	for _, n := range c.nodes {
		isBroker := n.worker || c.mode == nodeconfig.ModeZK
		if isBroker && !slices.Contains(known, n.id) {
			missing = append(missing, n.id)
		}
	}
	return missing
}

// ActiveController implements workloads.Cluster.
func (c *cluster) ActiveController(ctx context.Context) (workloads.Node, error) {
	var found workloads.Node
	err := poll(ctx, "one controller is active", func(ctx context.Context) (err error) {
		found, err = c.active(ctx)
		return err
	})
	return found, err
}

// active finds the one active controller, or says why there is none.
func (c *cluster) active(ctx context.Context) (workloads.Node, error) {
	switch {
	case c.mode == nodeconfig.ModeZK:
		return c.activeInZK(ctx)
	case c.own != "":
		return c.activeInFound(ctx)
	}
	return c.activeInQuorum(ctx)
}

// activeInZK asks every live broker whom it takes for the controller; all must
// name the same live one.
func (c *cluster) activeInZK(ctx context.Context) (workloads.Node, error) {
	named := kafka.NoLeader
	for _, b := range c.Brokers() {
		if !b.Live {
			continue
		}
		v, err := lookAt(ctx, b, []string{})
		if err != nil {
			return workloads.Node{}, err
		}
		if named != kafka.NoLeader && v.controller != named {
			return workloads.Node{}, fmt.Errorf("brokers name both %d and %d as the controller", named, v.controller)
		}
		named = v.controller
	}
	return c.liveController(named)
}

// activeInQuorum asks every live voter for the leader of the metadata log; the
// leader alone answers, and of two answers the higher epoch is meant.
func (c *cluster) activeInQuorum(ctx context.Context) (workloads.Node, error) {
	leader, epoch := kafka.NoLeader, int32(-1)
	var last error
	for _, v := range c.Controllers() {
		if !v.Live {
			continue
		}
		p, err := describeQuorum(ctx, v)
		if err != nil {
			last = err
			continue
		}
		if p.LeaderEpoch > epoch {
			leader, epoch = kafka.BrokerID(p.LeaderID), p.LeaderEpoch
		}
	}
	if leader == kafka.NoLeader && last != nil {
		return workloads.Node{}, last
	}
	return c.liveController(leader)
}

// liveController finds a controller by the id that it has as one.
func (c *cluster) liveController(id kafka.BrokerID) (workloads.Node, error) {
	for _, n := range c.Controllers() {
		if found, err := c.find(n.ID); err == nil && found.controllerID() == id && n.Live {
			return n, nil
		}
	}
	return workloads.Node{}, fmt.Errorf("the controller is said to be node %d, which is not a live one", id)
}

func describeQuorum(ctx context.Context, n workloads.Node) (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	conn, err := dial(ctx, n)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	resp, err := conn.Request(ctx, ask.DescribeQuorum())
	if err != nil {
		return nil, fmt.Errorf("quorum as %s sees it: %w", n.Addr, err)
	}
	p, err := ask.Quorum(resp.(*kmsg.DescribeQuorumResponse))
	if err != nil {
		return nil, fmt.Errorf("quorum as %s sees it: %w", n.Addr, err)
	}
	return p, nil
}

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kbench/harness/provider"
)

// without is all brokers but one.
func (c *cluster) without(gone broker) []broker {
	return slices.DeleteFunc(slices.Clone(c.all), func(id broker) bool { return id == gone })
}

// storyControlledShutdown: a real broker is told to stop; its leaders are gone
// from it before it ends.
func (c *cluster) storyControlledShutdown(t *testing.T) {
	done := c.faults.begin("a real broker stops in an orderly way")
	c.signal(t, real3, provider.Term)
	c.awaitTopic(t, c.without(real3), orders, ordersPartitions, notLedBy(real3))
	c.awaitLog(t, real3, c.granted)
	c.produceOrders(t)
	c.awaitGone(t, real3)
	c.restart(t, real3)
	c.awaitTopic(t, realBrokers, orders, ordersPartitions, replicated(realBrokers...))
	c.consume(t, orders, c.held)
	done()
}

// storyPreferredElection gives the leaders back that the shutdown moved.
func (c *cluster) storyPreferredElection(t *testing.T) { c.elect(t, real3, realBrokers) }

// elect runs kafka-leader-election after a broker has lost its leaders.
func (c *cluster) elect(t *testing.T, lost broker, all []broker) {
	t.Helper()
	c.awaitTopic(t, all, orders, ordersPartitions, func(_ int32, p partition) error {
		if p.leader == lost {
			return errors.New("the election would have nothing to do")
		}
		return nil
	})
	wants(t, c.tool(t, kafkaLeaderElection, all[1], "--election-type", "preferred", "--all-topic-partitions"),
		"Successfully completed leader election (PREFERRED) for partitions")
	c.awaitTopic(t, all, orders, ordersPartitions, preferred)
}

// storyBrokerKilled: a real broker dies; its leaders move once its session is
// over, and it comes back in sync.
func (c *cluster) storyBrokerKilled(t *testing.T) {
	done := c.faults.begin("a real broker is killed")
	c.signal(t, real2, provider.Kill)
	c.awaitGone(t, real2)
	c.awaitTopic(t, c.without(real2), orders, ordersPartitions, notLedBy(real2))
	c.produceOrders(t)
	c.restart(t, real2)
	c.awaitTopic(t, realBrokers, orders, ordersPartitions, replicated(realBrokers...))
	c.consume(t, orders, c.held)
	done()
}

// storyControllerKilled: the other candidate takes over, and real brokers obey
// it: they take its epoch, create, elect and shrink as it says.
func (r *rig) storyControllerKilled(t *testing.T) {
	killed, heir := first, second
	if now := r.awaitController(t, candidates...); now == second {
		killed, heir = second, first
	}
	done := r.faults.begin("the controller is killed")
	reopen := r.gate.shut()
	defer reopen()
	r.signal(t, killed, provider.Kill)
	r.awaitController(t, heir)
	reopen()
	r.awaitObeyed(t, realBrokers, heir)
	r.tool(t, kafkaTopics, real1, "--create", "--topic", "after-failover", "--partitions", "3", "--replication-factor", "3")
	r.awaitTopic(t, append(slices.Clone(realBrokers), heir), "after-failover", 3, replicated(realBrokers...))
	r.produce(t, "after-failover", 30, 100)
	r.consume(t, "after-failover", 30)
	r.restart(t, killed)
	done()
	done = r.faults.begin("a real broker stops under the next controller")
	r.signal(t, real1, provider.Term)
	r.awaitTopic(t, r.without(real1), orders, ordersPartitions, notLedBy(real1))
	r.awaitGone(t, real1)
	r.restart(t, real1)
	r.awaitTopic(t, realBrokers, orders, ordersPartitions, replicated(realBrokers...))
	done()
	r.consume(t, orders, r.held)
}

// storyRealController: a real broker becomes the controller and takes all that
// ours wrote; then a candidate of kbench takes over from it.
func (r *rig) storyRealController(t *testing.T) {
	done := r.faults.begin("both candidates of kbench stop")
	gone := r.faults.beginOnly("they are away", connectionTo(candidates...))
	for _, id := range candidates {
		r.signal(t, id, provider.Term)
	}
	heir := r.awaitController(t, realBrokers...)
	r.awaitLog(t, heir, `Ready to serve as the new controller with epoch`)
	r.awaitObeyed(t, realBrokers, heir)
	for _, id := range candidates {
		r.awaitGone(t, id)
	}
	done()
	r.tool(t, kafkaTopics, real2, "--create", "--topic", "by-real", "--partitions", "3", "--replication-factor", "3")
	r.awaitTopic(t, realBrokers, "by-real", 3, replicated(realBrokers...))
	r.tool(t, kafkaTopics, real2, "--delete", "--topic", "after-failover")
	r.awaitAbsent(t, realBrokers, "after-failover")
	r.awaitDeleted(t, "after-failover")
	r.restart(t, candidates...)
	gone()
	r.awaitTopic(t, candidates, "by-real", 3, replicated(realBrokers...))

	done = r.faults.begin("the real controller is deposed")
	reopen := r.gate.shut()
	defer reopen()
	if err := r.znodes.Delete("/controller", -1); err != nil {
		t.Fatal(err)
	}
	heir = r.awaitController(t, candidates...)
	reopen()
	r.awaitObeyed(t, realBrokers, heir)
	r.tool(t, kafkaTopics, real2, "--create", "--topic", "by-ours-again", "--partitions", "3", "--replication-factor", "3")
	all := append(slices.Clone(realBrokers), candidates...)
	r.awaitTopic(t, all, "by-ours-again", 3, replicated(realBrokers...))
	done()
	r.tool(t, kafkaTopics, real2, "--delete", "--topic", "by-real")
	r.awaitAbsent(t, all, "by-real")
	r.consume(t, orders, r.held)
}

// connectionTo are the lines that tell of a connection to a broker that is away. A
// channel to the controller knows the last one until it has something to send.
func connectionTo(gone ...broker) *regexp.Regexp {
	var ids []string
	for _, id := range gone {
		ids = append(ids, fmt.Sprint(id))
	}
	node := "(" + strings.Join(ids, "|") + ")"
	return regexp.MustCompile(`Node ` + node + ` disconnected\.$|Connection to node ` + node + ` \(.*\) could not be established`)
}

// awaitLog waits for a line in the log of a real broker.
func (c *cluster) awaitLog(t *testing.T, id broker, line string) {
	t.Helper()
	i := slices.IndexFunc(c.logs, func(l *nodeLog) bool { return l.node == fmt.Sprintf("real-%d", id) })
	wanted := regexp.MustCompile(line)
	eventually(t, fmt.Sprintf("in the log of broker %d: %s", id, line), func(context.Context) error {
		b, err := os.ReadFile(c.logs[i].file)
		if err == nil && !wanted.Match(b) {
			err = errors.New("there is none")
		}
		return err
	})
}

package nodeconfig

import (
	"math"
	"time"
)

const (
	// leastTimer keeps timers above what a machine's scheduler can tell apart: a
	// shorter one spins, or fires before any answer can be there.
	leastTimer = 10 * time.Millisecond
	// mostTimer is what Kafka and ZooKeeper can say in their milliseconds.
	mostTimer = math.MaxInt32 * time.Millisecond
	// maxTicks is how many ticks ZooKeeper grants a session at most.
	maxTicks = 20
	// leastSample is the shortest time between two samples of a node's figures.
	leastSample = time.Second
)

// checkRanges reports the numbers that are out of their bounds.
func (c *Config) checkRanges(fault faults) {
	t, k := c.Timers, c.Tuning
	for _, d := range []struct {
		field string
		value Duration
	}{
		{"timers.fetchTimeout", t.FetchTimeout},
		{"timers.electionTimeout", t.ElectionTimeout},
		{"timers.brokerSession", t.BrokerSession},
		{"timers.brokerHeartbeat", t.BrokerHeartbeat},
		{"timers.replicaLagMax", t.ReplicaLagMax},
		{"timers.controlledShutdownBackoff", t.ControlledShutdownBackoff},
		{"tuning.leaderImbalanceInterval", k.LeaderImbalanceInterval},
	} {
		fault.timer(d.field, d.value, "0s for Kafka's default")
	}
	if k.NoOpInterval != nil {
		fault.timer("tuning.noOpInterval", *k.NoOpInterval, "0s for none")
	}
	if k.AppendLinger != nil {
		fault.wait("tuning.appendLinger", *k.AppendLinger)
	}
	fault.wait("timers.electionBackoffMax", t.ElectionBackoffMax) // a draw from nothing up to it
	fault(c.Role == RoleBroker && c.Mode == ModeKRaft && t.BrokerSession > 0 && t.BrokerHeartbeat > t.BrokerSession/2,
		"timers.brokerHeartbeat is %s, which leaves less than two heartbeats in timers.brokerSession, %s: give at most half of it", t.BrokerHeartbeat.D(), t.BrokerSession.D())

	fault.count("tuning.zkMaxInFlight", int64(k.ZKMaxInFlight), 1000)
	fault.count("tuning.zkStatesPerMulti", int64(k.ZKStatesPerMulti), 200)
	fault.count("tuning.snapshotBytes", k.SnapshotBytes, math.MaxInt64)

	i := c.Metrics.Interval.D()
	fault(i != 0 && i < leastSample, "metrics.interval is %s: give at least %s, or leave it out for that", i, leastSample)
	if c.Role == RoleZooKeeper {
		tick := c.ZKServer.TickTime.D()
		fault(tick < leastTimer || tick > mostTimer/maxTicks, "zkServer.tickTime is %s: give a duration from %s to %s, such as 500ms", tick, leastTimer, mostTimer/maxTicks)
	}
	if c.Role == RoleBroker && c.Mode == ModeZK {
		s := c.ZooKeeper.SessionTimeout.D()
		fault(s < leastTimer || s > mostTimer, "zookeeper.sessionTimeout is %s: give a duration from %s to %s that ZooKeeper grants, 2 to %d of its ticks; 18s is Kafka's", s, leastTimer, mostTimer, maxTicks)
	}
}

// timer judges a period or a timeout for which 0 has a meaning of its own.
func (f faults) timer(field string, d Duration, zero string) {
	f(d != 0 && (d.D() < leastTimer || d.D() > mostTimer), "%s is %s: give a duration from %s to %s, or %s", field, d.D(), leastTimer, mostTimer, zero)
}

// wait judges a duration that may be as short as one likes.
func (f faults) wait(field string, d Duration) {
	f(d < 0 || d.D() > mostTimer, "%s is %s: give a duration from 0s to %s", field, d.D(), mostTimer)
}

// count judges a number for which 0 is Kafka's.
func (f faults) count(field string, n, most int64) {
	f(n < 0 || n > most, "%s is %d: give a number from 1 to %d, or 0 for Kafka's default", field, n, most)
}

package nodeconfig

import (
	"reflect"

	"kbench/kafka"
	"kbench/kafka/ibp"
)

// checkRole reports what the role needs and lacks, and what belongs to another.
func (c *Config) checkRole(fault faults) {
	switch c.Role {
	case RoleZooKeeper:
		fault(c.Mode != "" && c.Mode != ModeZK, "mode is %q: role zookeeper is the store of mode zk; write zk or leave it out", c.Mode)
		t := c.ZKServer.TLS
		fault(t != nil && (t.Certificate == "" || t.Key == ""), "zkServer.tls: certificate and key are needed: give both as PEM files")
	case RoleBroker:
		c.checkBrokers(fault)
	case RoleController:
		fault(c.Mode != ModeKRaft, "role controller needs mode kraft, not %q", c.Mode)
		c.checkVoter(fault)
	default:
		fault(true, "role is %q: use zookeeper, broker or controller", c.Role)
		return
	}
	c.checkForeign(fault)
	c.checkQuorum(fault)
	_, err := kafka.ParseUUID(c.ClusterID)
	needed := c.Mode == ModeKRaft && c.ClusterID == ""
	fault(needed, "clusterId is empty: give the id that all nodes of the quorum have; `kbench node format --random-cluster-id` prints a new one")
	fault(!needed && c.ClusterID != "" && err != nil, "clusterId is %q: give 22 characters of base64url, as `kbench node format --random-cluster-id` prints", c.ClusterID)
}

// checkForeign reports sections that nothing of the process reads.
func (c *Config) checkForeign(fault faults) {
	broker, kraft := c.Role == RoleBroker, c.Role != RoleZooKeeper && c.Mode == ModeKRaft
	fault(!broker && len(c.Brokers) > 0, "brokers mean nothing to role %s: leave them out, or use role broker", c.Role)
	fault(c.Role != RoleZooKeeper && !reflect.ValueOf(c.ZKServer).IsZero(), "zkServer means nothing to role %s: leave it out, or use role zookeeper", c.Role)
	fault((!broker || kraft) && !reflect.ValueOf(c.ZooKeeper).IsZero(), "zookeeper is for brokers of mode zk: leave it out")
	fault(!kraft && !reflect.ValueOf(c.Quorum).IsZero(), "quorum is for nodes of mode kraft: leave it out")
}

func (c *Config) checkBrokers(fault faults) {
	if c.Tuning.ZKProtocol != "" {
		_, err := ibp.Parse(c.Tuning.ZKProtocol)
		fault(err != nil, "tuning.zkProtocol: %v", err)
	}
	fault(len(c.Brokers) == 0, "brokers is empty: name at least one broker")
	seen, dirs := map[kafka.BrokerID]bool{}, map[string]bool{}
	for i, b := range c.Brokers {
		fault(b.ID < 1, "brokers[%d].id is %d: use 1 or above", i, b.ID)
		fault(seen[b.ID], "brokers[%d].id %d is used twice: give each broker an id of its own", i, b.ID)
		seen[b.ID] = true
		c.checkLogDirs(i, dirs, fault)
		fault(b.Candidate && c.Mode == ModeKRaft, "brokers[%d].candidate means nothing in mode kraft, whose controllers are voters: leave it out", i)
		names := map[string]bool{"": true, c.Security.BrokerListener(): true, ControllerListener: true}
		for j, e := range b.Listeners {
			fault(names[e.Name], "brokers[%d].listeners[%d].name is %q: give a name that no other listener has", i, j, e.Name)
			names[e.Name] = true
		}
	}
	switch c.Mode {
	case ModeZK:
		fault(len(c.ZooKeeper.Servers) == 0, "zookeeper.servers is empty: name host:port of the store")
		c.checkDedicated(fault)
		c.ZooKeeper.checkAccess(fault)
	case ModeKRaft:
		fault(len(c.Quorum.Voters) == 0 && len(c.Quorum.Bootstrap) == 0, "quorum.voters and quorum.bootstrap are empty: name the controllers")
		fault(c.Quorum.NodeID == 0 && c.Quorum.Port != 0, "quorum.port is for a process that is a controller too: give quorum.nodeId, or leave the port out")
		if c.Quorum.NodeID != 0 {
			c.checkVoter(fault)
		}
	default:
		fault(true, "mode is %q: use zk or kraft", c.Mode)
	}
}

func (c *Config) checkDedicated(fault faults) {
	seen := map[kafka.BrokerID]bool{}
	for i, id := range c.ZooKeeper.Dedicated {
		fault(id < 1, "zookeeper.dedicated[%d] is %d: use 1 or above", i, id)
		fault(seen[id], "zookeeper.dedicated[%d] is %d, which is there already: name each candidate once", i, id)
		seen[id] = true
	}
}

// checkVoter reports the faults of a process that is a controller: it must know
// which.
func (c *Config) checkVoter(fault faults) {
	q := c.Quorum
	fault(q.NodeID < 0, "quorum.nodeId is %d: use 0 or above", q.NodeID)
	fault(!q.Dynamic() && q.AddrOf(q.NodeID) == "",
		"quorum.nodeId %d is not among quorum.voters: name it there with host and port, or give quorum.port instead of voters where the log has them", q.NodeID)
}

// checkQuorum reports the faults of the voters.
func (c *Config) checkQuorum(fault faults) {
	q := c.Quorum
	ids := map[kafka.BrokerID]bool{}
	for i, v := range q.Voters {
		fault(v.ID < 0, "quorum.voters[%d].id is %d: use 0 or above", i, v.ID)
		fault(ids[v.ID], "quorum.voters[%d].id %d is used twice: give each voter an id of its own", i, v.ID)
		ids[v.ID] = true
	}
	if q.Dynamic() {
		ids[q.NodeID] = true
	}
	static := len(q.Voters) > 0
	fault(static && (q.Host != "" || q.Port != 0), "quorum.host and quorum.port are for voters that the log has: leave them out, or take out quorum.voters")
	fault(static && q.AutoJoin, "quorum.autoJoin is for voters that the log has: leave it out, or take out quorum.voters")
	for i, b := range c.Brokers {
		fault(ids[b.ID], "brokers[%d].id %d is that of a controller: give the broker another, since each of them fetches the metadata log by its id", i, b.ID)
	}
}

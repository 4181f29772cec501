package nodeconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"kbench/kafka"
	"kbench/kafka/ibp"
)

// Load reads and checks the file. Its error names every fault.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file; name the JSON file that configures the node", path)
	case err != nil:
		return nil, fmt.Errorf("%w; name the JSON file that configures the node", err)
	case len(bytes.TrimSpace(b)) == 0:
		return nil, fmt.Errorf("%s: the file is empty; it must hold the node's name, role, dataDir and what its role needs, as JSON", path)
	}
	var c Config
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &c, nil
}

// Write writes c so that Load reads it again.
func (c *Config) Write(path string) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if c.Secret() {
		mode = 0o600
	}
	return os.WriteFile(path, append(b, '\n'), mode)
}

// Check reports every fault of c.
func (c *Config) Check() error {
	var errs []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(c.Name == "", "name is empty: give the node a name that is unique in its cluster")
	fault(c.DataDir == "", "dataDir is empty: give a directory the node may write")
	switch c.Role {
	case RoleZooKeeper:
		fault(c.ZKServer.Port == 0, "zkServer.port is 0: give a free port")
		t := c.ZKServer.TLS
		fault(t != nil && (t.Certificate == "" || t.Key == ""), "zkServer.tls: certificate and key are needed: give both as PEM files")
		fault(c.ZKServer.TickTime <= 0, "zkServer.tickTime is %s: give a positive duration, 500ms", c.ZKServer.TickTime.D())
	case RoleBroker:
		c.checkBrokers(fault)
	case RoleController:
		fault(c.Mode != ModeKRaft, "role controller needs mode kraft, not %q", c.Mode)
		fault(!c.Quorum.Dynamic() && c.Quorum.AddrOf(c.Quorum.NodeID) == "", "quorum.nodeId %d is not among quorum.voters", c.Quorum.NodeID)
	default:
		fault(true, "role is %q: use zookeeper, broker or controller", c.Role)
	}
	c.checkSecurity(fault)
	c.checkRebalance(fault)
	c.checkPush(fault)
	return errors.Join(errs...)
}

func (c *Config) checkPush(fault func(bool, string, ...any)) {
	if !c.Tuning.RaftPush {
		return
	}
	fault(c.Mode != ModeKRaft, "tuning.raftPush needs mode kraft, not %q: it is another way to replicate the metadata log", c.Mode)
	fault(c.Quorum.Dynamic(), "tuning.raftPush needs static voters: name them in quorum.voters")
	l, secured := c.Security.Listeners[ControllerListener]
	fault(secured && l.SecurityProtocol() != kafka.Plaintext, "tuning.raftPush with security.listeners.%s: its voters speak without TLS and SASL; leave the listener out", ControllerListener)
}

func (c *Config) checkRebalance(fault func(bool, string, ...any)) {
	t := c.Tuning
	fault(t.LeaderImbalanceInterval < 0, "tuning.leaderImbalanceInterval is %s: give a positive duration", t.LeaderImbalanceInterval.D())
	fault(t.LeaderImbalancePercent < 0 || t.LeaderImbalancePercent > 100, "tuning.leaderImbalancePercent is %d: use 0 to 100; 0 means 10", t.LeaderImbalancePercent)
	fault(!t.AutoLeaderRebalance && (t.LeaderImbalanceInterval != 0 || t.LeaderImbalancePercent != 0),
		"tuning.leaderImbalanceInterval and leaderImbalancePercent mean nothing without tuning.autoLeaderRebalance: set it to true")
}

func (c *Config) checkBrokers(fault func(bool, string, ...any)) {
	if c.Tuning.ZKProtocol != "" {
		_, err := ibp.Parse(c.Tuning.ZKProtocol)
		fault(err != nil, "tuning.zkProtocol: %v", err)
	}
	fault(len(c.Brokers) == 0, "brokers is empty: name at least one broker")
	seen := map[kafka.BrokerID]bool{}
	for i, b := range c.Brokers {
		fault(b.ID < 1, "brokers[%d].id is %d: use 1 or above", i, b.ID)
		fault(seen[b.ID], "brokers[%d].id %d is used twice", i, b.ID)
		fault(b.Port == 0, "brokers[%d].port is 0: give a free port", i)
		seen[b.ID] = true
		names := map[string]bool{"": true, c.Security.BrokerListener(): true, ControllerListener: true}
		for j, e := range b.Listeners {
			fault(names[e.Name], "brokers[%d].listeners[%d].name is %q: give a name that no other listener has", i, j, e.Name)
			fault(e.Port == 0, "brokers[%d].listeners[%d].port is 0: give a free port", i, j)
			names[e.Name] = true
		}
	}
	switch c.Mode {
	case ModeZK:
		fault(len(c.ZooKeeper.Servers) == 0, "zookeeper.servers is empty: name host:port of the store")
		fault(c.ZooKeeper.SessionTimeout <= 0, "zookeeper.sessionTimeout is %s: give a positive duration", c.ZooKeeper.SessionTimeout.D())
		c.ZooKeeper.checkAccess(fault)
	case ModeKRaft:
		fault(len(c.Quorum.Voters) == 0 && len(c.Quorum.Bootstrap) == 0, "quorum.voters and quorum.bootstrap are empty: name the controllers")
	default:
		fault(true, "mode is %q: use zk or kraft", c.Mode)
	}
}

// AddrOf gives the host:port of the voter with the id, or "" where there is none.
func (q Quorum) AddrOf(id kafka.BrokerID) string {
	for _, v := range q.Voters {
		if v.ID == id {
			return v.Addr()
		}
	}
	return ""
}

// Addr gives the voter's host:port.
func (v Voter) Addr() string { return kafka.Endpoint{Host: v.Host, Port: v.Port}.Addr() }

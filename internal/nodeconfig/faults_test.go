package nodeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/kafka"
)

const clusterID = "QaQaQaQaQaQaQaQaQaQaQQ"

// The good configurations from which each fault differs in one thing.
func store() *Config {
	return &Config{
		Name: "z", Role: RoleZooKeeper, Mode: ModeZK, DataDir: "d", TraceFile: "t", Metrics: MetricsLog{File: "m"}, DiskFaults: "f",
		ZKServer: ZKServer{Host: "0.0.0.0", Port: 2181, TickTime: Duration(500 * time.Millisecond)},
	}
}

func zkBrokers() *Config {
	return &Config{
		Name: "b", Role: RoleBroker, Mode: ModeZK, DataDir: "d",
		Brokers: []Broker{
			{ID: 1, Host: "b.example", Port: 9092, Candidate: true, Listeners: []BrokerEndpoint{{"CLIENTS", 9093}}},
			{ID: 2, Host: "::1", Port: 9092},
		},
		ZooKeeper: ZooKeeper{
			Servers: []string{"z1:2181", "[::1]:2181"}, SessionTimeout: Duration(time.Second), Dedicated: []kafka.BrokerID{1001, 1002},
		},
		Profile: ProfileAt{Host: "127.0.0.1", Port: 6060},
	}
}

func kraftBroker() *Config {
	return &Config{
		Name: "b", Role: RoleBroker, Mode: ModeKRaft, DataDir: "d", ClusterID: clusterID,
		Brokers: []Broker{{ID: 1, Host: "127.0.0.1", Port: 9092}},
		Quorum: Quorum{
			NodeID: 3001, Bootstrap: []string{"127.0.0.1:9093"},
			Voters: []Voter{{3001, "127.0.0.1", 9093}, {3002, "c2", 9093}},
		},
		Timers: Timers{BrokerSession: Duration(2 * time.Second), BrokerHeartbeat: Duration(time.Second)},
	}
}

// joining is a controller of a quorum whose voters the log has.
func joining() *Config {
	return &Config{
		Name: "c", Role: RoleController, Mode: ModeKRaft, DataDir: "d", ClusterID: clusterID,
		Quorum: Quorum{NodeID: 3003, Host: "127.0.0.1", Port: 9093, Bootstrap: []string{"c1:9093"}, AutoJoin: true},
	}
}

func TestFaults(t *testing.T) {
	ms := func(n time.Duration) Duration { return Duration(n * time.Millisecond) }
	for _, c := range []struct {
		good  func() *Config
		spoil func(*Config)
		want  string
	}{
		// Roles and modes.
		{store, func(c *Config) { c.Role = "broke" }, `role is "broke": use zookeeper, broker or controller`},
		{zkBrokers, func(c *Config) { c.Mode = "ZK" }, `mode is "ZK": use zk or kraft`},
		{store, func(c *Config) { c.Mode = ModeKRaft }, `mode is "kraft": role zookeeper is the store of mode zk`},
		{joining, func(c *Config) { c.Mode = ModeZK }, `role controller needs mode kraft, not "zk"`},
		{store, func(c *Config) { c.Brokers = zkBrokers().Brokers }, "brokers mean nothing to role zookeeper"},
		{joining, func(c *Config) { c.Brokers = kraftBroker().Brokers }, "brokers mean nothing to role controller"},
		{zkBrokers, func(c *Config) { c.ZKServer = store().ZKServer }, "zkServer means nothing to role broker"},
		{store, func(c *Config) { c.ZooKeeper = zkBrokers().ZooKeeper }, "zookeeper is for brokers of mode zk"},
		{joining, func(c *Config) { c.ZooKeeper = zkBrokers().ZooKeeper }, "zookeeper is for brokers of mode zk"},
		{kraftBroker, func(c *Config) { c.ZooKeeper = zkBrokers().ZooKeeper }, "zookeeper is for brokers of mode zk"},
		{zkBrokers, func(c *Config) { c.Quorum.NodeID = 1 }, "quorum is for nodes of mode kraft"},
		{store, func(c *Config) { c.Quorum = joining().Quorum }, "quorum is for nodes of mode kraft"},
		{kraftBroker, func(c *Config) { c.Brokers[0].Candidate = true }, "brokers[0].candidate means nothing in mode kraft"},
		{zkBrokers, func(c *Config) { c.Tuning.ZKProtocol = "9.9" }, "tuning.zkProtocol: "},

		// Ids.
		{zkBrokers, func(c *Config) { c.Brokers[1].ID = 1 }, "brokers[1].id 1 is used twice: give"},
		{zkBrokers, func(c *Config) { c.Brokers[1].ID = -1 }, "brokers[1].id is -1: use 1 or above"},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Dedicated[1] = 1001 }, "zookeeper.dedicated[1] is 1001, which is there already"},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Dedicated[0] = 0 }, "zookeeper.dedicated[0] is 0: use 1 or above"},
		{kraftBroker, func(c *Config) { c.Quorum.NodeID = 3003 }, "quorum.nodeId 3003 is not among quorum.voters: name it"},
		{joining, func(c *Config) { c.Quorum.Port = 0 }, "quorum.nodeId 3003 is not among quorum.voters: name it"},
		{joining, func(c *Config) { c.Quorum.NodeID = -1 }, "quorum.nodeId is -1: use 0 or above"},
		{kraftBroker, func(c *Config) { c.Quorum.Voters[1].ID = 3001 }, "quorum.voters[1].id 3001 is used twice: give"},
		{kraftBroker, func(c *Config) { c.Quorum.Voters[1].ID = -2 }, "quorum.voters[1].id is -2: use 0 or above"},
		{kraftBroker, func(c *Config) { c.Brokers[0].ID = 3002 }, "brokers[0].id 3002 is that of a controller: give the broker another"},
		{kraftBroker, func(c *Config) { c.Brokers[0].ID, c.Quorum = 3003, joining().Quorum }, "brokers[0].id 3003 is that of a controller"},
		{kraftBroker, func(c *Config) { c.ClusterID = "" }, "clusterId is empty: give the id"},
		{zkBrokers, func(c *Config) { c.ClusterID = "mine" }, `clusterId is "mine": give 22 characters of base64url`},

		// The quorum.
		{kraftBroker, func(c *Config) { c.Quorum = Quorum{} }, "quorum.voters and quorum.bootstrap are empty"},
		{kraftBroker, func(c *Config) { c.Quorum.Port = 1 }, "quorum.host and quorum.port are for voters that the log has"},
		{kraftBroker, func(c *Config) { c.Quorum.AutoJoin = true }, "quorum.autoJoin is for voters that the log has"},
		{kraftBroker, func(c *Config) { c.Quorum = joining().Quorum; c.Quorum.NodeID = 0 }, "quorum.port is for a process that is a controller too"},

		// Where it listens.
		{store, func(c *Config) { c.ZKServer.Host = "" }, "zkServer.host is empty: give"},
		{store, func(c *Config) { c.ZKServer.Port = 0 }, "zkServer.port is 0: give a free port"},
		{zkBrokers, func(c *Config) { c.Brokers[0].Host = "" }, "brokers[0].host is empty: give"},
		{zkBrokers, func(c *Config) { c.Brokers[0].Host = "b.example:9092" }, `brokers[0].host is "b.example:9092", which is neither`},
		{zkBrokers, func(c *Config) { c.Brokers[0].Host = "[::1]" }, `brokers[0].host is "[::1]", which is neither`},
		{zkBrokers, func(c *Config) { c.Brokers[1].Host = "::" }, "brokers[1].host is ::, which nobody can dial"},
		{zkBrokers, func(c *Config) { c.Brokers[1].Port = 0 }, "brokers[1].port is 0: give a free port"},
		{zkBrokers, func(c *Config) { c.Brokers[0].Listeners[0].Port = 0 }, "brokers[0].listeners[0].port is 0: give a free port"},
		{zkBrokers, func(c *Config) { c.Brokers[0].Listeners[0].Port = 9092 }, "brokers[0].listeners[0] is at b.example:9092, as brokers[0] is: give"},
		{zkBrokers, func(c *Config) { c.Brokers[0].Listeners[0].Name = "PLAINTEXT" }, `brokers[0].listeners[0].name is "PLAINTEXT": give`},
		{zkBrokers, func(c *Config) { c.Brokers[1].Host = "b.example" }, "brokers[1] is at b.example:9092, as brokers[0] is: give"},
		{zkBrokers, func(c *Config) { c.Profile.Host = "" }, "profile.host is empty: give"},
		{kraftBroker, func(c *Config) { c.Profile = ProfileAt{"127.0.0.1", 9093} }, "profile is at 127.0.0.1:9093, as quorum.voters[0] is"},
		{kraftBroker, func(c *Config) { c.Quorum.Voters[0].Port = 9092 }, "quorum.voters[0] is at 127.0.0.1:9092, as brokers[0] is: give"},
		{kraftBroker, func(c *Config) { c.Quorum.Voters[1].Host = "127.0.0.1" }, "quorum.voters[1] is at 127.0.0.1:9093, as quorum.voters[0] is: give"},
		{kraftBroker, func(c *Config) { c.Quorum.Voters[1].Port = 0 }, "quorum.voters[1].port is 0"},
		{kraftBroker, func(c *Config) { c.Quorum.Voters[1].Host = "0.0.0.0" }, "quorum.voters[1].host is 0.0.0.0, which nobody can dial"},
		{joining, func(c *Config) { c.Quorum.Host = "" }, "quorum.host is empty: give"},

		// Whom it dials.
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers = nil }, "zookeeper.servers is empty: name host:port"},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "" }, `zookeeper.servers[1] is "": write host:port`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "z2" }, `zookeeper.servers[1] is "z2": write host:port`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = ":2181" }, `zookeeper.servers[1] is ":2181": write host:port`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "::1:2181" }, `zookeeper.servers[1] is "::1:2181": write host:port, or [::1]:port`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "z2:zk" }, `zookeeper.servers[1] is "z2:zk": its port must be`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "z2:0" }, `zookeeper.servers[1] is "z2:0": its port must be`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "z2:65536" }, `zookeeper.servers[1] is "z2:65536": its port must be`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "z1:2181" }, `zookeeper.servers[1] is "z1:2181", which is there already`},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[0] = "z1:2181,z2:2181" }, "write each server as an element of the list"},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[0] = "b.example:9093" }, "where brokers[0].listeners[0] listens: name the address of the store"},
		{zkBrokers, func(c *Config) { c.ZooKeeper.Servers[1] = "z2:2181/kafka" }, `zookeeper.servers[1] is "z2:2181/kafka", with the chroot /kafka, which kbench does not support`},
		{kraftBroker, func(c *Config) { c.Quorum.Bootstrap[0] = "3001@c1:9093" }, `quorum.bootstrap[0] is "3001@c1:9093": write host:port`},

		// Numbers.
		{kraftBroker, func(c *Config) { c.Timers.FetchTimeout = -1 }, "timers.fetchTimeout is -1ns: give a duration from 10ms to"},
		{kraftBroker, func(c *Config) { c.Timers.FetchTimeout = ms(9) }, "timers.fetchTimeout is 9ms: give"},
		{kraftBroker, func(c *Config) { c.Timers.ElectionTimeout = 1 }, "timers.electionTimeout is 1ns: give"},
		{kraftBroker, func(c *Config) { c.Timers.ElectionBackoffMax = -1 }, "timers.electionBackoffMax is -1ns: give"},
		{kraftBroker, func(c *Config) { c.Timers.BrokerSession = ms(1 << 31) }, "timers.brokerSession is 596h31m23.648s: give"},
		{kraftBroker, func(c *Config) { c.Timers.BrokerHeartbeat = 1 }, "timers.brokerHeartbeat is 1ns: give"},
		{kraftBroker, func(c *Config) { c.Timers.BrokerHeartbeat = ms(1001) }, "timers.brokerHeartbeat is 1.001s, which leaves less than two heartbeats"},
		{zkBrokers, func(c *Config) { c.Timers.ReplicaLagMax = -1 }, "timers.replicaLagMax is -1ns: give"},
		{zkBrokers, func(c *Config) { c.Timers.ControlledShutdownBackoff = 1 }, "timers.controlledShutdownBackoff is 1ns: give"},
		{zkBrokers, func(c *Config) { c.ZooKeeper.SessionTimeout = 0 }, "zookeeper.sessionTimeout is 0s: give"},
		{zkBrokers, func(c *Config) { c.ZooKeeper.SessionTimeout = ms(1 << 31) }, "zookeeper.sessionTimeout is 596h31m23.648s: give"},
		{store, func(c *Config) { c.ZKServer.TickTime = 0 }, "zkServer.tickTime is 0s: give"},
		{store, func(c *Config) { c.ZKServer.TickTime = ms(1 << 30) }, "zkServer.tickTime is 298h15m41.824s: give"},
		{zkBrokers, func(c *Config) { c.Tuning.ZKMaxInFlight = -1 }, "tuning.zkMaxInFlight is -1: give a number from 1 to 1000"},
		{zkBrokers, func(c *Config) { c.Tuning.ZKStatesPerMulti = 201 }, "tuning.zkStatesPerMulti is 201: give a number from 1 to 200"},
		{joining, func(c *Config) { c.Tuning.SnapshotBytes = -1 }, "tuning.snapshotBytes is -1: give"},
		{joining, func(c *Config) { d := Duration(-1); c.Tuning.AppendLinger = &d }, "tuning.appendLinger is -1ns: give"},
		{joining, func(c *Config) { d := Duration(1); c.Tuning.NoOpInterval = &d }, "tuning.noOpInterval is 1ns: give a duration from 10ms to 596h31m23.647s, or 0s for none"},
		{joining, func(c *Config) { c.Tuning.AutoLeaderRebalance, c.Tuning.LeaderImbalanceInterval = true, -1 }, "tuning.leaderImbalanceInterval is -1ns: give"},
		{store, func(c *Config) { c.Metrics.Interval = ms(500) }, "metrics.interval is 500ms: give at least 1s"},
		{joining, func(c *Config) { c.Tuning.MetadataVersion = "3.0-IV1" }, `tuning.metadataVersion: metadata.version "3.0-IV1" is not one of 3.3-IV3 to 4.4-IV2`},
		{zkBrokers, func(c *Config) { c.Tuning.MetadataVersion = "4.0-IV3" }, `tuning.metadataVersion needs mode kraft, not "zk": leave it out`},

		// Paths.
		{store, func(c *Config) { c.Name = "" }, "name is empty: give"},
		{store, func(c *Config) { c.DataDir = "" }, "dataDir is empty: give"},
		{store, func(c *Config) { c.TraceFile = "./d/" }, "traceFile is ./d/, as dataDir is: give it a path of its own"},
		{store, func(c *Config) { c.Metrics.File = "t" }, "metrics.file is t, as traceFile is: give"},
		{store, func(c *Config) { c.DiskFaults = "t" }, "diskFaults is t, as traceFile is: give"},
	} {
		if err := c.good().Check(); err != nil {
			t.Fatalf("a good configuration: %v", err)
		}
		spoiled := c.good()
		c.spoil(spoiled)
		switch err := spoiled.Check(); {
		case err == nil:
			t.Errorf("taken, though %s", c.want)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("want %s, have %v", c.want, err)
		}
	}
}

// TestFaultsOfText: what JSON itself cannot hold is told by field and cure too.
func TestFaultsOfText(t *testing.T) {
	for text, want := range map[string]string{
		`{"zkServer": {"port": 65536}}`:                       "zkServer.port: number 65536 does not fit: write a number from 1 to 65535",
		`{"brokers": [{"port": -1}]}`:                         "brokers.port: number -1 does not fit: write a number from 1 to 65535",
		`{"quorum": {"nodeId": 2147483648}}`:                  "quorum.nodeId: number 2147483648 does not fit: write a whole number",
		`{"brokers": {}}`:                                     "brokers: object does not fit: write [...]",
		`[]`:                                                  "the configuration: array does not fit: write {...}",
		`{"timers": {"fetchTimeout": "2"}}`:                   `timers.fetchTimeout: "2" is no duration: write a number with its unit`,
		`{"name": "soon", "zkServer": {"tickTime": "2 sec"}}`: `zkServer.tickTime: "2 sec" is no duration`,
		"\x7fELF\x02\x00":                                     "line 1, column 1 is not JSON: invalid character '\\x7f' looking for beginning of value; the file must hold a node's configuration as one JSON object, such as `kbench node --help` shows",
		"{\n  \"name\": 'n'\n}":                               "line 2, column 11 is not JSON: ",
		`{"name": "n", `:                                      "the JSON ends before its last }: the file was cut short",
		`{} {}`:                                               "something stands behind the configuration",
	} {
		path := filepath.Join(t.TempDir(), "n.json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %s, have %v", text, want, err)
		}
	}
}

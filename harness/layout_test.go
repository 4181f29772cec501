package harness

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

// stubProvider numbers ports and launches nothing.
type stubProvider struct {
	provider.Provider
	next uint16
}

func (p *stubProvider) Reserve(_ context.Context, _ string, n int) (string, []uint16, error) {
	var ports []uint16
	for range n {
		p.next++
		ports = append(ports, p.next)
	}
	return "127.0.0.1", ports, nil
}

func cellOf(t *testing.T, target spec.Target, overrides ...spec.Override) spec.Cell {
	t.Helper()
	s, err := spec.Default(overrides...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Cells() {
		if c.Target == target {
			return c
		}
	}
	t.Fatalf("no cell of %s", target)
	return spec.Cell{}
}

// TestLayoutLogDirs: brokers that host replicas have their own directories, others
// and those with no choice name none.
func TestLayoutLogDirs(t *testing.T) {
	for n, want := range map[string][]string{"1": nil, "2": {"broker-2/logs-1", "broker-2/logs-2"}} {
		s := shapeOf(cellOf(t, spec.ZK, spec.Override{Origin: "test", Path: "logDirs", Value: n}), kafka.UUID{1})
		members, err := layout(t.Context(), s, &stubProvider{}, []string{"127.0.0.1:2181"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			for _, b := range m.cfg.Brokers {
				switch {
				case b.ID == 2 && !slices.Equal(b.LogDirs, want), !m.worker && b.LogDirs != nil:
					t.Errorf("%s directories: broker %d has %q", n, b.ID, b.LogDirs)
				}
			}
		}
	}
}

// TestLayoutControlPlane: every broker and candidate of ZooKeeper mode has the
// second listener, several brokers of one process too, of kbench's and of real
// Kafka; reports tell of it, and a quorum has none.
func TestLayoutControlPlane(t *testing.T) {
	for _, target := range []spec.Target{spec.ZK, spec.KafkaZK, spec.KRaft} {
		cell := cellOf(t, target, spec.Override{Origin: "test", Path: "targets", Value: "[zk, kraft, kafka-zk]"},
			kafkaSet("zk.controlPlaneListener", "true"), kafkaSet("cluster.brokersPerNode", "3"))
		members, err := layout(t.Context(), shapeOf(cell, kafka.UUID{1}), &stubProvider{}, []string{"127.0.0.1:2181"})
		if err != nil {
			t.Fatal(err)
		}
		want, brokers := target.InZooKeeper(), 0
		for _, m := range members {
			m.cfg.DataDir = "d"
			if err := m.cfg.Check(); err != nil {
				t.Errorf("%s: %s: %v", target, m.cfg.Name, err)
			}
			if has := m.cfg.Security.ControlPlane == nodeconfig.ControlPlaneListener; has != want {
				t.Errorf("%s: %s has a control-plane listener %t", target, m.cfg.Name, has)
			}
			for _, b := range m.cfg.Brokers {
				brokers++
				if has := len(b.Listeners) == 1; has != want {
					t.Errorf("%s: broker %d listens at %v", target, b.ID, b.Listeners)
				}
				if m.kafka != nil && !slices.Contains(m.kafka.Properties, provider.Property{
					Key: "listeners", Value: "PLAINTEXT://" + kafka.Endpoint{Host: b.Host, Port: b.Port}.Addr() + ",CONTROL://" + kafka.Endpoint{Host: b.Host, Port: b.Listeners[0].Port}.Addr(),
				}) {
					t.Errorf("%s has %v", m.cfg.Name, m.kafka.Properties)
				}
			}
		}
		if most := 6; brokers != most && want || brokers == 0 {
			t.Errorf("%s: %d brokers", target, brokers)
		}
		if told := strings.Contains(kafkaSettings(cell), "control.plane.listener.name=CONTROL"); told != (target == spec.KafkaZK) {
			t.Errorf("%s: reports say %s", target, kafkaSettings(cell))
		}
	}
}

func TestLayoutZK(t *testing.T) {
	s := shapeOf(cellOf(t, spec.ZK), kafka.UUID{1})
	members, err := layout(t.Context(), s, &stubProvider{}, []string{"127.0.0.1:2181"})
	if err != nil {
		t.Fatal(err)
	}
	var candidates, workers []kafka.BrokerID
	for _, m := range members {
		m.cfg.DataDir = "d"
		if err := m.cfg.Check(); err != nil {
			t.Errorf("%s: %v", m.cfg.Name, err)
		}
		if m.cfg.ZooKeeper.SessionTimeout.D() != 2*time.Second {
			t.Errorf("%s: session %s, want the matched 2s", m.cfg.Name, m.cfg.ZooKeeper.SessionTimeout.D())
		}
		if m.worker {
			workers = append(workers, m.ids...)
		}
		for _, b := range m.cfg.Brokers {
			if b.Candidate {
				candidates = append(candidates, b.ID)
			}
		}
		// Everybody must know who hosts no replicas.
		if want := []kafka.BrokerID{1001, 1002, 1003}; !slices.Equal(m.cfg.ZooKeeper.Dedicated, want) {
			t.Errorf("%s: dedicated %v, want %v", m.cfg.Name, m.cfg.ZooKeeper.Dedicated, want)
		}
	}
	if !slices.Equal(candidates, []kafka.BrokerID{1001, 1002, 1003}) || !slices.Equal(workers, []kafka.BrokerID{1, 2, 3}) {
		t.Errorf("candidates %v, workers %v", candidates, workers)
	}
}

func TestLayoutKRaft(t *testing.T) {
	s := shapeOf(cellOf(t, spec.KRaft), kafka.UUID{1})
	members, err := layout(t.Context(), s, &stubProvider{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[uint16]bool{}
	for _, m := range members {
		m.cfg.DataDir = "d"
		if err := m.cfg.Check(); err != nil {
			t.Errorf("%s: %v", m.cfg.Name, err)
		}
		if len(m.cfg.Quorum.Voters) != 3 {
			t.Errorf("%s knows %d voters", m.cfg.Name, len(m.cfg.Quorum.Voters))
		}
		if m.cfg.Role == nodeconfig.RoleController && m.cfg.Quorum.AddrOf(m.cfg.Quorum.NodeID) == "" {
			t.Errorf("%s is not among its voters", m.cfg.Name)
		}
		for _, b := range m.cfg.Brokers {
			if ports[b.Port] {
				t.Errorf("port %d is given twice", b.Port)
			}
			ports[b.Port] = true
		}
	}
}

func TestManyBrokersInOneNode(t *testing.T) {
	s := shapeOf(cellOf(t, spec.KRaft), kafka.UUID{1})
	s.brokers, s.perNode = 7, 3
	members, err := layBrokers(t.Context(), s, &stubProvider{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range members {
		names = append(names, m.cfg.Name)
	}
	if want := []string{"brokers-1-3", "brokers-4-6", "broker-7"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// What a workload or the timeline takes away takes no other broker along.
func TestVictimsHaveAProcessOfTheirOwn(t *testing.T) {
	s, err := spec.Parse("many.yaml", []byte(`
targets: [kafka-kraft, kraft]
cluster: {brokers: 40, brokersPerNode: 20}
workloads: [{kind: propagation, duration: 20s}, {kind: broker-failure, trials: 2}]
faults: [{at: 1s, for: 1s, kind: kill, on: broker-7}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{3, 3} {
		run := newCellRun(t)
		run.Options.Spec, run.spec, run.repeat = s, s.Cells()[i], 1
		shape := shapeOf(run.spec, kafka.UUID{1})
		shape.victims = run.victims(shape)
		members, err := layBrokers(t.Context(), shape, &stubProvider{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []kafka.BrokerID
		for _, m := range members {
			ids = append(ids, m.ids...)
			if len(m.ids) == 1 && shape.victims[m.ids[0]] {
				want--
			}
			for _, id := range m.ids {
				if shape.victims[id] && len(m.ids) > 1 {
					t.Errorf("victim %d is in %s", id, m.cfg.Name)
				}
			}
			if len(m.ids) > 20 {
				t.Errorf("%s holds %d", m.cfg.Name, len(m.ids))
			}
		}
		if want != 0 || len(ids) != 40 || !slices.IsSorted(ids) || len(members) > 2+2*3+1 {
			t.Errorf("%s: %d victims too few, %d brokers in %d processes", run.spec.Target, want, len(ids), len(members))
		}
	}
}

func TestClusterIDIsDrawnFromTheSeed(t *testing.T) {
	a, b := clusterID(7, 1), clusterID(7, 1)
	if a != b || a == clusterID(7, 2) || a == clusterID(8, 1) {
		t.Error("the cluster id must depend on seed and cell, and on nothing else")
	}
	if s := a.String(); len(s) != 22 || s[0] == '-' {
		t.Errorf("%q is no id that tools take", s)
	}
}

func TestColocatedVoters(t *testing.T) {
	s := shapeOf(cellOf(t, spec.KRaft), kafka.UUID{1})
	s.controllers, s.colocated = spec.Colocated, true
	members, err := layout(t.Context(), s, &stubProvider{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		m.cfg.DataDir = "d"
		voter := 1000 + m.ids[0] // not the broker's: both fetch the log
		if err := m.cfg.Check(); err != nil || len(m.cfg.Quorum.Voters) != 3 || m.cfg.Quorum.NodeID != voter {
			t.Errorf("%s: quorum %+v, %v", m.cfg.Name, m.cfg.Quorum, err)
		}
		n := newNode(m.ids[0], m, 0, nil)
		if !n.racer || n.controllerID() != voter || n.voterAddr != m.cfg.Quorum.AddrOf(voter) || n.voterAddr == n.addr {
			t.Errorf("%s: racer %t, voter %d at %q, broker at %q", m.cfg.Name, n.racer, n.controllerID(), n.voterAddr, n.addr)
		}
	}
	c := cluster{excluded: map[kafka.BrokerID]bool{3: true}}
	for _, m := range members {
		c.nodes = append(c.nodes, newNode(m.ids[0], m, 0, nowhere{}))
	}
	// The quorum tells its leader by the voter's id; faults go to the node.
	if n, err := c.liveController(1002); err != nil || n.ID != 2 || n.Addr != c.nodes[1].voterAddr {
		t.Errorf("the leader 1002 is %+v, %v", n, err)
	}
	for _, id := range []kafka.BrokerID{2, 1003} {
		if n, err := c.liveController(id); err == nil {
			t.Errorf("%d is no live controller, but %+v was found", id, n)
		}
	}
	s.perNode = 2
	if _, err := layout(t.Context(), s, &stubProvider{}, nil); err == nil {
		t.Error("two brokers and a voter in one process gave no error")
	}
}

// Of many brokers the first five vote, and the report says so.
func TestColocatedVotersAreBounded(t *testing.T) {
	for brokers, want := range map[int]string{
		3: "3 voters, one in the process of each broker",
		7: "5 voters, in the processes of brokers 1 to 5 of 7",
	} {
		cell := cellOf(t, spec.KRaft, kafkaSet("cluster.controllers", "colocated"), kafkaSet("cluster.brokers", strconv.Itoa(brokers)))
		members, err := layout(t.Context(), shapeOf(cell, kafka.UUID{1}), &stubProvider{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		racers := 0
		for _, m := range members {
			m.cfg.DataDir = "d"
			if err := m.cfg.Check(); err != nil {
				t.Errorf("%s: %v", m.cfg.Name, err)
			}
			if newNode(m.ids[0], m, 0, nil).racer {
				racers++
			}
		}
		if got := voters(cell.Config); got != want || !strings.HasPrefix(want, strconv.Itoa(racers)) {
			t.Errorf("%d brokers: %d voters, said to be %q, want %q", brokers, racers, got, want)
		}
	}
}

// A node of real Kafka that is broker and voter has one id.
func TestColocatedVotersOfRealKafka(t *testing.T) {
	cell := cellOf(t, spec.KafkaKRaft, kafkaSet("targets", "[kafka-kraft]"), kafkaSet("kafka.brokers", "real"), kafkaSet("cluster.controllers", "colocated"))
	members, err := layout(t.Context(), shapeOf(cell, kafka.UUID{1}), &stubProvider{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if n := newNode(m.ids[0], m, 0, nil); !n.racer || n.controllerID() != n.id || !slices.Contains(m.kafka.Properties, provider.Property{Key: "process.roles", Value: "broker,controller"}) {
			t.Errorf("%s: racer %t, broker %d, voter %d, %s", m.cfg.Name, n.racer, n.id, n.controllerID(), m.kafka.Properties)
		}
	}
}

func kafkaSet(path, value string) spec.Override {
	return spec.Override{Origin: "test", Path: path, Value: value}
}

// The controllers of a cluster of real Kafka get its configuration, with the
// timers of the spec and what a variant adds; the brokers stay kbench's.
func TestLayoutKafka(t *testing.T) {
	for _, c := range []struct {
		target spec.Target
		want   map[string]string // properties of the first controller
	}{
		{spec.KafkaZK, map[string]string{
			"broker.id": "1001", "listeners": "PLAINTEXT://127.0.0.1:4", "zookeeper.connect": "127.0.0.1:2181",
			"zookeeper.session.timeout.ms": "2000", "zookeeper.max.in.flight.requests": "10", "num.io.threads": "3",
		}},
		{"kafka-kraft@4.1.0", map[string]string{
			"node.id": "1001", "listeners": "CONTROLLER://127.0.0.1:4", "controller.quorum.fetch.timeout.ms": "2000",
			"controller.quorum.voters":  "1001@127.0.0.1:4,1002@127.0.0.1:5,1003@127.0.0.1:6",
			"broker.session.timeout.ms": "2000", "controller.quorum.append.linger.ms": "25", "num.io.threads": "3",
		}},
	} {
		cell := cellOf(t, c.target, spec.Override{Origin: "test", Path: "targets", Value: "[" + string(c.target) + "]"},
			kafkaSet("kafka.properties", "num.io.threads=3"), kafkaSet("kafka.heap", "512m"), kafkaSet("kafka.jvm", "-XX:+UseZGC -Da=b"))
		members, err := layout(t.Context(), shapeOf(cell, kafka.UUID{1}), &stubProvider{}, []string{"127.0.0.1:2181"})
		if err != nil {
			t.Fatal(err)
		}
		var real []*provider.Kafka
		for _, m := range members {
			if m.worker != (m.kafka == nil) {
				t.Errorf("%s: %s is a worker %t, real Kafka %t", c.target, m.cfg.Name, m.worker, m.kafka != nil)
			}
			if m.kafka != nil {
				real = append(real, m.kafka)
			}
		}
		if len(real) != 3 || real[0].Version != c.target.Kafka() || real[0].Heap != "512m" || !slices.Equal(real[0].JVM, []string{"-XX:+UseZGC", "-Da=b"}) {
			t.Fatalf("%s: %+v", c.target, real)
		}
		if formatted := real[0].ClusterID != ""; formatted == c.target.InZooKeeper() {
			t.Errorf("%s: formats storage %t", c.target, formatted)
		}
		got := map[string]string{}
		for _, p := range real[0].Properties {
			got[p.Key] = p.Value
		}
		for key, want := range c.want {
			if got[key] != want {
				t.Errorf("%s: %s is %q, want %q", c.target, key, got[key], want)
			}
		}
		if text := kafkaSettings(cell); !strings.Contains(text, "num.io.threads=3") || strings.Contains(text, "1001") {
			t.Errorf("%s: reports say %s", c.target, text)
		}
	}
}

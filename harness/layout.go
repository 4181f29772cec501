package harness

import (
	"context"
	"fmt"
	"time"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

// firstControllerID is well above any broker's id, on both sides. Voters that
// are colocated with brokers count from it too: a broker of kbench fetches the
// metadata log by its own id beside the voter in its process, so they differ.
// Real Kafka fetches it once, and has one id for both.
const firstControllerID kafka.BrokerID = 1001

// maxColocatedVoters bounds the quorum of brokers that are voters too
// (combined mode): a larger one would slow every commit.
const maxColocatedVoters = 5

// shape is what a cluster is made of, resolved from one cell of the matrix.
type shape struct {
	mode        nodeconfig.Mode
	brokers     int // brokers that host replicas
	controllers int // voters, or dedicated candidates
	colocated   bool
	perNode     int                     // brokers per process, at least 1
	victims     map[kafka.BrokerID]bool // brokers with a process of their own, whatever perNode says
	logDirs     int                     // of each broker that hosts replicas
	control     bool                    // ZooKeeper mode: brokers and candidates have a control-plane listener
	clusterID   kafka.UUID
	timers      nodeconfig.Timers
	tuning      nodeconfig.Tuning
	zkSession   time.Duration
	kafka       *kafkaShape // nil where the controllers are kbench's
}

// member is one node of the layout: what it is, before it runs.
type member struct {
	cfg    nodeconfig.Config
	ids    []kafka.BrokerID // the brokers or the one controller it holds
	worker bool             // it holds brokers that host replicas
	kafka  *provider.Kafka  // a node of real Kafka, which runs in place of cfg
}

// layout names and numbers the nodes of s and reserves their addresses.
// Brokers have ids from 1, controllers from 1001, colocated or not.
func layout(ctx context.Context, s shape, p provider.Provider, store []string) ([]member, error) {
	brokers, err := layBrokers(ctx, s, p)
	if err != nil {
		return nil, err
	}
	controllers, err := layControllers(ctx, s, p)
	if err != nil {
		return nil, err
	}
	var dedicated []kafka.BrokerID
	var voters []nodeconfig.Voter
	all := append(controllers, brokers...)
	for _, m := range all {
		voters = append(voters, m.cfg.Quorum.Voters...)
		if s.mode == nodeconfig.ModeZK && !m.worker {
			dedicated = append(dedicated, m.ids...)
		}
	}
	for i := range all {
		cfg := &all[i].cfg
		cfg.Mode, cfg.ClusterID, cfg.Timers, cfg.Tuning = s.mode, s.clusterID.String(), s.timers, s.tuning
		if s.mode == nodeconfig.ModeZK {
			cfg.ZooKeeper = nodeconfig.ZooKeeper{Servers: store, SessionTimeout: nodeconfig.Duration(s.zkSession), Dedicated: dedicated}
			if s.control {
				cfg.Security.ControlPlane = nodeconfig.ControlPlaneListener
			}
		} else {
			cfg.Quorum.Voters = voters
		}
		if s.real(all[i]) {
			all[i].kafka = s.kafkaNode(all[i])
		}
	}
	return all, nil
}

func layBrokers(ctx context.Context, s shape, p provider.Provider) ([]member, error) {
	var out []member
	for first, n := 1, 0; first <= s.brokers; first += n {
		n = s.together(first)
		name := fmt.Sprintf("broker-%d", first)
		if n > 1 {
			name = fmt.Sprintf("brokers-%d-%d", first, first+n-1)
		}
		voter := s.mode == nodeconfig.ModeKRaft && s.colocated && first <= maxColocatedVoters
		if voter && s.perNode > 1 { // the spec was judged
			return nil, fmt.Errorf("controllers: colocated needs brokersPerNode: 1 on kraft, not %d", s.perNode)
		}
		want := n * s.listeners()
		if voter {
			want++
		}
		host, ports, err := p.Reserve(ctx, name, want)
		if err != nil {
			return nil, err
		}
		m := member{worker: true, cfg: nodeconfig.Config{Name: name, Role: nodeconfig.RoleBroker}}
		if voter {
			id := s.voterID(kafka.BrokerID(first))
			m.cfg.Quorum = nodeconfig.Quorum{NodeID: id, Voters: []nodeconfig.Voter{{ID: id, Host: host, Port: ports[n]}}}
		}
		for i := range n {
			id := kafka.BrokerID(first + i)
			m.ids = append(m.ids, id)
			b := s.broker(id, host, ports[i*s.listeners():])
			b.Candidate, b.LogDirs = s.mode == nodeconfig.ModeZK && s.colocated, s.dirsOf(id)
			m.cfg.Brokers = append(m.cfg.Brokers, b)
		}
		out = append(out, m)
	}
	return out, nil
}

// together is how many brokers from this one on share a process.
func (s shape) together(first int) int {
	n := 1
	for !s.victims[kafka.BrokerID(first)] && n < s.perNode && first+n <= s.brokers && !s.victims[kafka.BrokerID(first+n)] {
		n++
	}
	return n
}

// listeners is how many a broker has.
func (s shape) listeners() int {
	if s.control {
		return 2
	}
	return 1
}

// broker is one at its host with the first of the ports.
func (s shape) broker(id kafka.BrokerID, host string, ports []uint16) nodeconfig.Broker {
	b := nodeconfig.Broker{ID: id, Host: host, Port: ports[0]}
	if s.control {
		b.Listeners = []nodeconfig.BrokerEndpoint{{Name: nodeconfig.ControlPlaneListener, Port: ports[1]}}
	}
	return b
}

// voterID is the id of the voter in a broker's process.
func (s shape) voterID(broker kafka.BrokerID) kafka.BrokerID {
	if s.kafka != nil {
		return broker
	}
	return firstControllerID + broker - 1
}

// dirsOf names a broker's log directories. One that has no choice names none: it
// keeps nothing of its replicas, and does not write for a directory to fail.
func (s shape) dirsOf(id kafka.BrokerID) []string {
	if s.logDirs < 2 {
		return nil
	}
	var out []string
	for i := range s.logDirs {
		out = append(out, fmt.Sprintf("broker-%d/logs-%d", id, i+1))
	}
	return out
}

func layControllers(ctx context.Context, s shape, p provider.Provider) ([]member, error) {
	var out []member
	for i := range s.controllers {
		id := firstControllerID + kafka.BrokerID(i)
		name := fmt.Sprintf("controller-%d", id)
		host, ports, err := p.Reserve(ctx, name, s.listeners())
		if err != nil {
			return nil, err
		}
		m := member{ids: []kafka.BrokerID{id}, cfg: nodeconfig.Config{Name: name}}
		if s.mode == nodeconfig.ModeZK {
			m.cfg.Role = nodeconfig.RoleBroker
			m.cfg.Brokers = []nodeconfig.Broker{s.broker(id, host, ports)}
			m.cfg.Brokers[0].Candidate = true
		} else {
			m.cfg.Role = nodeconfig.RoleController
			m.cfg.Quorum = nodeconfig.Quorum{NodeID: id, Voters: []nodeconfig.Voter{{ID: id, Host: host, Port: ports[0]}}}
		}
		out = append(out, m)
	}
	return out, nil
}

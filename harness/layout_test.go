package harness

import (
	"context"
	"slices"
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
		if err := m.cfg.Check(); err != nil || len(m.cfg.Quorum.Voters) != 3 || m.cfg.Quorum.NodeID != m.ids[0] {
			t.Errorf("%s: quorum %+v, %v", m.cfg.Name, m.cfg.Quorum, err)
		}
		n := newNode(m.ids[0], m, 0, nil)
		if !n.racer || n.voterAddr == "" || n.voterAddr == n.addr {
			t.Errorf("%s: racer %t, voter %q, broker %q", m.cfg.Name, n.racer, n.voterAddr, n.addr)
		}
	}
	s.perNode = 2
	if _, err := layout(t.Context(), s, &stubProvider{}, nil); err == nil {
		t.Error("two brokers and a voter in one process gave no error")
	}
}

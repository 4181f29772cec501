package spec

import (
	"testing"
	"time"

	"kbench/harness/netfault"
)

func TestNetworkedCells(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		networked bool
	}{
		"loopback":      {"workloads: [{kind: controller-failover}, {kind: broker-failure, how: pause}]\n", false},
		"isolation":     {"workloads: [{kind: controller-failover}, {kind: broker-failure, how: isolate}]\n", true},
		"cut":           {"workloads: [{kind: controller-failover, how: cut-in}]\n", true},
		"poor":          {"workloads: [{kind: propagation}]\nset: {network.lossPerMille: 10}\n", true},
		"said to be ok": {"workloads: [{kind: propagation}]\nset: {network.delay: 0s}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("s.yaml", []byte("name: s\ntargets: [zk, kraft]\n"+c.text))
			if err != nil {
				t.Fatal(err)
			}
			for _, cell := range s.Cells() {
				if cell.Networked() != c.networked {
					t.Errorf("%s: networked %v", cell.ID, cell.Networked())
				}
			}
		})
	}
}

func TestNetworkFaults(t *testing.T) {
	n := NetworkTuning{Delay: 10 * time.Millisecond, Jitter: time.Millisecond, LossPerMille: 5, KbitPerSecond: 1000}
	p, err := netfault.Compile(n.Faults())
	if err != nil {
		t.Fatal(err)
	}
	want := "input iif != lo numgen random mod 1000000 < 5000 drop\negress delay 10ms jitter 1ms\negress rate 1000000 bit/s\n"
	if p.String() != want {
		t.Errorf("got\n%swant\n%s", p, want)
	}
	if got := (NetworkTuning{}).Faults(); got != nil {
		t.Errorf("nothing is %v", got)
	}
}

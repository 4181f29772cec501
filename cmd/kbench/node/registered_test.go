package node

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/nodeconfig"
)

// A broker that is not registered takes connections and answers nothing, and
// answers them once it is.
func TestUnregisteredBrokerAnswersNothing(t *testing.T) {
	r := newRig(t)
	p := heldtest.Ports(t, 2)
	quorum := nodeconfig.Quorum{Voters: []nodeconfig.Voter{{ID: 1001, Host: "127.0.0.1", Port: p[0]}}}
	stop := r.start(nodeconfig.Config{
		Name: "b1", Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeKRaft, Timers: calm, Quorum: quorum,
		Brokers: []nodeconfig.Broker{{ID: 1, Host: "127.0.0.1", Port: p[1]}},
	})
	var conn net.Conn
	r.eventually("the broker takes a connection", func() bool {
		var err error
		conn, err = net.Dial("tcp", addr(p[1]))
		return err == nil
	})
	defer conn.Close()
	req := kmsg.NewPtrApiVersionsRequest()
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)); err != nil {
		t.Fatal(err)
	}
	read := func(within time.Duration) error {
		if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		_, err := conn.Read(make([]byte, 8))
		return err
	}
	if err := read(500 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("without a controller: %v", err)
	}
	quorum.NodeID = 1001
	r.start(nodeconfig.Config{Name: "c1", Role: nodeconfig.RoleController, Mode: nodeconfig.ModeKRaft, Timers: calm, Quorum: quorum})
	if err := read(patience); err != nil {
		t.Errorf("registered: %v", err)
	}
	if err := stop(); err != nil { // before the controller that it asks
		t.Error(err)
	}
}

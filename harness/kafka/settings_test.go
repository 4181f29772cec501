package kafka

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
)

// The files as Kafka reads them; a change of one is a change of what is
// measured.
func TestProperties(t *testing.T) {
	for _, c := range []struct {
		name string
		got  Properties
	}{
		{"candidate", Candidate{
			ID: 1001, Host: "127.0.0.1", Port: 16001, Servers: []string{"127.0.0.1:2181", "127.0.0.1:2182"},
			SessionTimeout: 2 * time.Second, MaxInFlight: 10,
		}.Properties()},
		{"controller", Controller{quorumOf(1002)}.Properties()},
		{"broker", Broker{Quorum: quorumOf(1), Host: "127.0.0.1", Port: 16011, ReplicaLagMax: 30 * time.Second}.Properties()},
		{"combined", Broker{Quorum: quorumOf(1001), Host: "127.0.0.1", Port: 16011}.Properties()},
		{"zkbroker", Candidate{
			ID: 1, Host: "127.0.0.1", Port: 16011, Servers: []string{"127.0.0.1:2181"},
			ReplicaLagMax: 30 * time.Second, ShutdownBackoff: 5 * time.Second,
		}.Properties()},
		{"controlplane", Candidate{
			ID: 1, Host: "127.0.0.1", Port: 16011, ControlPlane: true, ControlPort: 16012, Servers: []string{"127.0.0.1:2181"},
		}.Properties()},
	} {
		name := filepath.Join("testdata", c.name+".properties")
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != c.got.File() {
			t.Errorf("%s: want\n%s\ngot\n%s", name, want, c.got.File())
		}
	}
}

func quorumOf(id int32) Quorum {
	return Quorum{
		ID:           id,
		Voters:       []nodeconfig.Voter{{ID: 1001, Host: "127.0.0.1", Port: 16001}, {ID: 1002, Host: "127.0.0.1", Port: 16002}},
		FetchTimeout: 2 * time.Second, ElectionTimeout: time.Second, ElectionBackoffMax: time.Second,
		BrokerSession: 2 * time.Second, BrokerHeartbeat: 500 * time.Millisecond,
		AppendLinger: 0, NoOpInterval: 500 * time.Millisecond,
	}
}

func TestParse(t *testing.T) {
	got, err := Parse(" num.io.threads = 4; ssl.path=C:\\x;queued.max.requests=500;")
	if err != nil {
		t.Fatal(err)
	}
	if s := got.String(); s != `num.io.threads=4; ssl.path=C:\x; queued.max.requests=500` {
		t.Errorf("got %s", s)
	}
	if f := got.File(); f != "num.io.threads=4\nssl.path=C:\\\\x\nqueued.max.requests=500\n" {
		t.Errorf("file %q", f)
	}
	again, err := Parse(got.String())
	if err != nil || again.String() != got.String() {
		t.Errorf("%v, %v", again, err)
	}
	for _, bad := range []string{"x", "=1", "a b=1", "a=1;a=2", "node.id=3", "listeners=PLAINTEXT://:1", "control.plane.listener.name=PLAINTEXT"} {
		if p, err := Parse(bad); err == nil {
			t.Errorf("%q gave %v", bad, p)
		}
	}
}

func TestWith(t *testing.T) {
	base, _ := Parse("a=1;b=2")
	more, _ := Parse("b=3;c=4")
	if s := base.With(more).String(); s != "a=1; b=3; c=4" {
		t.Errorf("got %s", s)
	}
	if s := base.String(); s != "a=1; b=2" {
		t.Errorf("the base became %s", s)
	}
}

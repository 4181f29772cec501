package netfault

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

var a, b = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []Fault
		want   []string
	}{
		{"nothing", nil, nil},
		{"isolation", []Fault{Isolation()}, []string{"input iif != lo drop", "output oif != lo drop"}},
		{"both directions of two links", []Fault{CutFrom(Both, a, b)}, []string{
			"input ip saddr 10.0.0.1 drop", "output ip daddr 10.0.0.1 drop",
			"input ip saddr 10.0.0.2 drop", "output ip daddr 10.0.0.2 drop",
		}},
		{"no direction is both", []Fault{{Kind: Cut, Peers: []netip.Addr{a}}}, []string{
			"input ip saddr 10.0.0.1 drop", "output ip daddr 10.0.0.1 drop",
		}},
		{"what arrives", []Fault{CutFrom(In, a)}, []string{"input ip saddr 10.0.0.1 drop"}},
		{"what leaves", []Fault{CutFrom(Out, b)}, []string{"output ip daddr 10.0.0.2 drop"}},
		{"loss", []Fault{{Kind: Loss, Share: 0.05, Direction: In, Peers: []netip.Addr{a}}}, []string{
			"input ip saddr 10.0.0.1 numgen random mod 1000000 < 50000 drop",
		}},
		{"the smallest loss is not none", []Fault{{Kind: Loss, Share: 1e-9, Direction: Out}}, []string{
			"output oif != lo numgen random mod 1000000 < 1 drop",
		}},
		{"delay and rate", []Fault{
			{Kind: Delay, Delay: 10 * time.Millisecond, Jitter: time.Millisecond}, {Kind: Rate, BitsPerSecond: 1_000_000},
		}, []string{"egress delay 10ms jitter 1ms", "egress rate 1000000 bit/s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Compile(c.faults)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(append(c.want, ""), "\n")
			if got := p.String(); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestWrongFaults(t *testing.T) {
	for _, c := range []struct {
		faults []Fault
		want   string
	}{
		{[]Fault{{Kind: "fire"}}, `"fire" is not known`},
		{[]Fault{{Kind: Cut, Direction: "up"}}, `direction "up"`},
		{[]Fault{{Kind: Cut, Peers: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}, "no IPv4 address of another node"},
		{[]Fault{{Kind: Cut, Peers: []netip.Addr{netip.MustParseAddr("fd00::1")}}}, "no IPv4 address of another node"},
		{[]Fault{{Kind: Cut, Peers: []netip.Addr{{}}}}, "no IPv4 address of another node"},
		{[]Fault{{Kind: Cut, Peers: make([]netip.Addr, MaxPeers+1)}}, "at most 1000"},
		{[]Fault{{Kind: Loss}}, "above 0 and below 1"},
		{[]Fault{{Kind: Loss, Share: 1}}, "use cut"},
		{[]Fault{{Kind: Delay}}, "above 0"},
		{[]Fault{{Kind: Delay, Delay: time.Hour}}, "at most 1m0s"},
		{[]Fault{{Kind: Delay, Delay: 1, Jitter: 2}}, "larger than the delay"},
		{[]Fault{{Kind: Delay, Delay: 1, Peers: []netip.Addr{a}}}, "leave peers and direction out"},
		{[]Fault{{Kind: Rate, BitsPerSecond: 1}}, "8000 to 100000000000"},
		{[]Fault{{Kind: Delay, Delay: 1}, {Kind: Delay, Delay: 2}}, "a second delay"},
		{[]Fault{{Kind: Rate, BitsPerSecond: 1e6}, {Kind: Rate, BitsPerSecond: 1e7}}, "a second rate"},
	} {
		p, err := Compile(c.faults)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.faults, err, c.want)
		}
		if len(p.Rules) != 0 {
			t.Errorf("%+v: rules beside the error", c.faults)
		}
	}
}

func TestMeets(t *testing.T) {
	for _, c := range []struct {
		fault   Fault
		peer    netip.Addr
		in, out bool
	}{
		{Isolation(), a, true, true},
		{CutFrom(Both, a), a, true, true},
		{CutFrom(Both, a), b, false, false},
		{CutFrom(In, a), a, true, false},
		{CutFrom(Out, a), a, false, true},
		{Fault{Kind: Loss, Share: 0.5}, a, false, false},
	} {
		if in, out := c.fault.Meets(c.peer, In), c.fault.Meets(c.peer, Out); in != c.in || out != c.out {
			t.Errorf("%+v meets %v: in %v out %v", c.fault, c.peer, in, out)
		}
	}
}

package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
)

// fakeAgent answers as an agent at an address does, on a network that delivers
// every datagram or none, and on which a push takes no time.
func fakeAgent(t *testing.T, addr string, delivers bool) *agent.Client {
	t.Helper()
	link := &fakeLink{}
	link.lost.Store(!delivers)
	return link.agent(t, addr)
}

// fakeLink is between nodes: all their packets are lost or none.
type fakeLink struct {
	obeys bool // faults are made
	lost  atomic.Bool
}

// agent is one at an address, for which packets pass as they do on the link.
func (l *fakeLink) agent(t *testing.T, addr string) *agent.Client {
	t.Helper()
	here, there := net.Pipe()
	go func() {
		out := json.NewEncoder(there)
		_ = out.Encode(map[string]any{"id": 0, "here": addr + ":1"})
		for line := range linesOf(there) {
			var r struct {
				ID     int
				Do     string
				Faults []json.RawMessage
			}
			_ = json.Unmarshal(line, &r)
			reply := map[string]any{"id": r.ID, "took": 0}
			if r.Do == "set" && l.obeys {
				l.lost.Store(len(r.Faults) > 0)
			}
			if r.Do == "heard" && !l.lost.Load() {
				reply["count"] = probeDatagrams
			}
			_ = out.Encode(reply)
		}
	}()
	c, err := agent.Connect(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// linesOf reads ahead: a pipe has no room, and a client that writes hears nothing.
func linesOf(r io.Reader) <-chan []byte {
	out := make(chan []byte, 100)
	go func() {
		defer close(out)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			out <- bytes.Clone(lines.Bytes())
		}
	}()
	return out
}

// listener is one that kbench reaches, and its address.
func listener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestSeveranceIsSeenInEveryDirection(t *testing.T) {
	peer := netip.MustParseAddr("10.0.0.2")
	const nobody = "127.0.0.1:1" // refuses, as an address without packets would not answer
	open := listener(t)
	for name, c := range map[string]struct {
		fault    netfault.Fault
		in, out  bool   // datagrams pass
		listener string // of the victim
		want     string // in the error, "" for none
	}{
		"isolation bites":            {netfault.Isolation(), false, false, nobody, ""},
		"isolation leaks in":         {netfault.Isolation(), true, false, nobody, "packets from w pass"},
		"isolation leaks out":        {netfault.Isolation(), false, true, nobody, "packets to w pass"},
		"isolation spares kbench":    {netfault.Isolation(), false, false, open, "kbench still reaches"},
		"cut bites":                  {netfault.CutFrom(netfault.Both, peer), false, false, open, ""},
		"cut meets kbench too":       {netfault.CutFrom(netfault.Both, peer), false, false, nobody, "kbench does not reach"},
		"cut in bites":               {netfault.CutFrom(netfault.In, peer), false, true, open, ""},
		"cut in meets both":          {netfault.CutFrom(netfault.In, peer), false, false, open, "packets to w are lost"},
		"cut out meets both":         {netfault.CutFrom(netfault.Out, peer), false, false, open, "packets from w are lost"},
		"nothing is wrong":           {netfault.Fault{}, true, true, open, ""},
		"lost for another reason":    {netfault.Fault{}, false, true, open, "packets from w are lost"},
		"no listener before a fault": {netfault.Fault{}, true, true, nobody, "kbench does not reach"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &severance{
				victim: fakeAgent(t, "10.0.0.1", c.in), witnesses: []witness{{"w", fakeAgent(t, peer.String(), c.out)}},
				listener: c.listener,
			}
			err := s.look(t.Context(), c.fault)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPoorNetworkThatIsNot: a delay or a rate that does nothing is found.
func TestPoorNetworkThatIsNot(t *testing.T) {
	from, to := fakeAgent(t, "10.0.0.1", true), fakeAgent(t, "10.0.0.2", true)
	for _, f := range []netfault.Fault{
		{Kind: netfault.Delay, Delay: 10 * time.Millisecond, Jitter: time.Millisecond},
		{Kind: netfault.Rate, BitsPerSecond: 1_000_000},
	} {
		err := bites(t.Context(), []netfault.Fault{f}, from, to)
		if want := fmt.Sprintf("%s does not bite", f.Kind); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := bites(t.Context(), nil, from, to); err != nil {
		t.Errorf("without faults: %v", err)
	}
}

func TestAgentThatIsGone(t *testing.T) {
	s := &severance{victim: fakeAgent(t, "10.0.0.1", true), witnesses: []witness{{"w", fakeAgent(t, "10.0.0.2", true)}}, listener: listener(t)}
	if err := s.victim.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.look(ctx, netfault.Fault{}); err == nil || !strings.Contains(err.Error(), agent.ErrGone.Error()) {
		t.Errorf("got %v", err)
	}
}

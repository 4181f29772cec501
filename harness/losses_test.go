package harness

import (
	"bufio"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
)

// lossyLink is a link on which each every-th datagram is lost, none where every
// is 0.
type lossyLink struct {
	every int

	mu    sync.Mutex
	sent  int
	heard map[string]int
}

// end gives an agent at one end of the link.
func (l *lossyLink) end(t *testing.T, addr string) *agent.Client {
	t.Helper()
	here, there := net.Pipe()
	go func() {
		out := json.NewEncoder(there)
		_ = out.Encode(map[string]any{"id": 0, "here": addr + ":1"})
		for lines := bufio.NewScanner(there); lines.Scan(); {
			var r struct {
				ID    int
				Do    string
				Token string
				Count int
			}
			_ = json.Unmarshal(lines.Bytes(), &r)
			_ = out.Encode(map[string]any{"id": r.ID, "count": l.do(r.Do, r.Token, r.Count)})
		}
	}()
	c, err := agent.Connect(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (l *lossyLink) do(what, token string, n int) (heard int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if what != "send" {
		return l.heard[token]
	}
	for range n {
		if l.sent++; l.every == 0 || l.sent%l.every != 0 {
			l.heard[token]++
		}
	}
	return 0
}

func newLossyLink(every int) *lossyLink {
	return &lossyLink{every: every, heard: map[string]int{}}
}

// TestLossIsFoundByFewDatagrams: a loss is believed as soon as it is seen, and
// denied only when it would have been seen almost surely.
func TestLossIsFoundByFewDatagrams(t *testing.T) {
	for _, c := range []struct {
		share       float64
		every, sent int
		want        string // in the error, "" for none
	}{
		{0.001, 1000, 1000, ""},
		{0.001, 4500, 5000, ""},
		{0.001, 0, 20_000, "loss does not bite: all of 20000 packets pass"},
		{0.3, 3, 50, ""},
		{0.3, 0, 67, "all of 67 packets pass"},
		{0.9, 0, 50, "all of 50 packets pass"},
	} {
		link := newLossyLink(c.every)
		f := netfault.Fault{Kind: netfault.Loss, Direction: netfault.In, Share: c.share}
		err := bites(t.Context(), []netfault.Fault{f}, link.end(t, "10.0.0.1"), link.end(t, "10.0.0.2"))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, each %d: got %v, want %q", c.share, c.every, err, c.want)
		}
		if link.sent != c.sent {
			t.Errorf("%v, each %d: %d datagrams, want %d", c.share, c.every, link.sent, c.sent)
		}
	}
}

// TestImpairedTellsALoss from what a busy machine loses.
func TestImpairedTellsALoss(t *testing.T) {
	for _, c := range []struct {
		every, sent int
		met         bool
	}{
		{1000, 10_000, true},
		{0, 10_000, false},
		{4000, 20_000, false},
		{1500, 10_000, true},
		{2000, 20_000, true},
	} {
		link := newLossyLink(c.every)
		f := netfault.Fault{Kind: netfault.Loss, Direction: netfault.In, Share: 0.001}
		met, seen, err := impaired(t.Context(), f, 0, link.end(t, "10.0.0.1"), link.end(t, "10.0.0.2"))
		if err != nil || met != c.met || link.sent != c.sent {
			t.Errorf("each %d lost: met %v by %d datagrams (%s), want %v by %d; %v", c.every, met, link.sent, seen, c.met, c.sent, err)
		}
	}
}

func TestLateness(t *testing.T) {
	got := lateness([]netfault.Fault{{Kind: netfault.Loss, Share: 0.1}, {Kind: netfault.Delay, Delay: time.Second, Jitter: time.Millisecond}})
	if got != time.Second+time.Millisecond || lateness(nil) != 0 {
		t.Errorf("got %v", got)
	}
}

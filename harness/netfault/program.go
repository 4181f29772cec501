package netfault

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"
)

// Hook is where a rule sees packets.
type Hook string

// The hooks of rules.
const (
	Input  Hook = "input"
	Output Hook = "output"
)

// Parts is the modulus by which a loss is thrown: a rule drops DropParts of
// Parts packets.
const Parts = 1_000_000

// Rule drops packets at one hook.
type Rule struct {
	Hook Hook
	// Peer is whose packets; the zero address means all that do not stay in the
	// node.
	Peer netip.Addr
	// DropParts of Parts packets are dropped, 1 to Parts.
	DropParts uint32
}

// Shape is what happens to all packets that leave. The zero value is nothing.
type Shape struct {
	Delay, Jitter time.Duration
	BitsPerSecond uint64 // 0 for no bound
}

// Program is everything wrong with a node's network, as its kernel is told. The
// zero value is a network with nothing wrong.
type Program struct {
	Rules []Rule
	Shape Shape
}

// Compile turns faults into rules; none give the zero Program. A delay and a
// rate may come once each.
func Compile(faults []Fault) (Program, error) {
	var p Program
	for _, f := range faults {
		if err := f.Check(); err != nil {
			return Program{}, err
		}
		switch f.Kind {
		case Cut:
			p.Rules = append(p.Rules, f.rules(Parts)...)
		case Loss:
			p.Rules = append(p.Rules, f.rules(uint32(max(1, math.Round(f.Share*Parts))))...)
		case Delay:
			if p.Shape.Delay != 0 {
				return Program{}, errors.New("a second delay on one node; keep one")
			}
			p.Shape.Delay, p.Shape.Jitter = f.Delay, f.Jitter
		case Rate:
			if p.Shape.BitsPerSecond != 0 {
				return Program{}, errors.New("a second rate on one node; keep one")
			}
			p.Shape.BitsPerSecond = f.BitsPerSecond
		}
	}
	return p, nil
}

func (f Fault) rules(drop uint32) []Rule {
	peers := f.Peers
	if len(peers) == 0 {
		peers = []netip.Addr{{}}
	}
	var out []Rule
	for _, peer := range peers {
		if f.Direction != Out {
			out = append(out, Rule{Input, peer, drop})
		}
		if f.Direction != In {
			out = append(out, Rule{Output, peer, drop})
		}
	}
	return out
}

// String is the rule in the words of nft.
func (r Rule) String() string {
	match := map[Hook]string{Input: "iif != lo", Output: "oif != lo"}[r.Hook]
	if r.Peer.IsValid() {
		match = map[Hook]string{Input: "ip saddr ", Output: "ip daddr "}[r.Hook] + r.Peer.String()
	}
	if r.DropParts < Parts {
		match += fmt.Sprintf(" numgen random mod %d < %d", Parts, r.DropParts)
	}
	return fmt.Sprintf("%s %s drop", r.Hook, match)
}

// String is the program, a line for each rule.
func (p Program) String() string {
	var b strings.Builder
	for _, r := range p.Rules {
		b.WriteString(r.String() + "\n")
	}
	if s := p.Shape; s.Delay != 0 {
		fmt.Fprintf(&b, "egress delay %v jitter %v\n", s.Delay, s.Jitter)
	}
	if s := p.Shape; s.BitsPerSecond != 0 {
		fmt.Fprintf(&b, "egress rate %d bit/s\n", s.BitsPerSecond)
	}
	return b.String()
}

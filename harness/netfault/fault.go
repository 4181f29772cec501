package netfault

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Kind is what is wrong.
type Kind string

// The kinds.
const (
	Cut   Kind = "cut"   // packets are dropped
	Loss  Kind = "loss"  // a share of them is dropped at random
	Delay Kind = "delay" // those that leave are held back; those that arrive, where the kernel has no netem
	Rate  Kind = "rate"  // those that leave share a bandwidth
)

// Direction is that of the packets that a cut or a loss meets, seen from the
// node.
type Direction string

// The directions.
const (
	Both Direction = "both"
	In   Direction = "in"  // packets that arrive
	Out  Direction = "out" // packets that leave
)

// Fault is one thing wrong with the network of a node. Traffic of the node with
// itself is never met.
type Fault struct {
	Kind Kind `json:"kind"`
	// Peers are the IPv4 addresses whose packets a cut or a loss meets; none
	// means everybody's.
	Peers []netip.Addr `json:"peers,omitempty"`
	// Direction of a cut or a loss; empty means Both.
	Direction Direction `json:"direction,omitempty"`
	// Share of the packets that a loss drops, above 0 and below 1.
	Share float64 `json:"share,omitempty"`
	// Delay of every packet in one direction, above 0, at most MaxDelay.
	Delay time.Duration `json:"delay,omitempty"`
	// Jitter is how far a packet's delay may lie from Delay, at most Delay.
	Jitter time.Duration `json:"jitter,omitempty"`
	// BitsPerSecond of all packets that leave, from MinRate to MaxRate.
	BitsPerSecond uint64 `json:"bitsPerSecond,omitempty"`
}

// The bounds of faults.
const (
	MaxPeers = 1000
	MaxDelay = time.Minute
	MinRate  = 8_000
	MaxRate  = 100_000_000_000
)

// Isolation cuts a node off from everybody, as a pulled plug does.
func Isolation() Fault { return Fault{Kind: Cut, Direction: Both} }

// CutFrom cuts the links with some peers.
func CutFrom(d Direction, peers ...netip.Addr) Fault {
	return Fault{Kind: Cut, Direction: d, Peers: peers}
}

// Meets reports whether the fault drops every packet between the node and peer
// in direction d, which is In or Out.
func (f Fault) Meets(peer netip.Addr, d Direction) bool {
	if f.Kind != Cut || f.Direction != d && f.Direction != Both && f.Direction != "" {
		return false
	}
	for _, p := range f.Peers {
		if p == peer {
			return true
		}
	}
	return len(f.Peers) == 0
}

// Check says what is wrong with the fault itself, and how to mend it.
func (f Fault) Check() error {
	switch f.Kind {
	case Cut, Loss:
		return f.checkDrop()
	case Delay, Rate:
		return f.checkShape()
	}
	return fmt.Errorf("network fault %q is not known; use %s, %s, %s or %s", f.Kind, Cut, Loss, Delay, Rate)
}

func (f Fault) checkDrop() error {
	switch f.Direction {
	case "", Both, In, Out:
	default:
		return fmt.Errorf("%s: direction %q is not known; use %s, %s or %s", f.Kind, f.Direction, Both, In, Out)
	}
	if len(f.Peers) > MaxPeers {
		return fmt.Errorf("%s: %d peers; at most %d", f.Kind, len(f.Peers), MaxPeers)
	}
	for _, p := range f.Peers {
		if !p.Is4() || p.IsLoopback() || p.IsUnspecified() {
			return fmt.Errorf("%s: peer %v is no IPv4 address of another node", f.Kind, p)
		}
	}
	if f.Kind == Loss && !(f.Share > 0 && f.Share < 1) {
		return fmt.Errorf("loss: a share of %v; write one above 0 and below 1, or use cut", f.Share)
	}
	return nil
}

func (f Fault) checkShape() error {
	if len(f.Peers) > 0 || f.Direction != "" && f.Direction != Out {
		return fmt.Errorf("%s: it meets every packet that leaves the node; leave peers and direction out", f.Kind)
	}
	switch {
	case f.Kind == Rate && (f.BitsPerSecond < MinRate || f.BitsPerSecond > MaxRate):
		return fmt.Errorf("rate: %d bits per second; write %d to %d", f.BitsPerSecond, uint64(MinRate), uint64(MaxRate))
	case f.Kind == Delay && (f.Delay <= 0 || f.Delay > MaxDelay):
		return fmt.Errorf("delay: %v; write one above 0 and at most %v", f.Delay, MaxDelay)
	case f.Kind == Delay && (f.Jitter < 0 || f.Jitter > f.Delay):
		return errors.New("delay: the jitter is negative or larger than the delay")
	}
	return nil
}

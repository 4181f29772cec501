package spec

import (
	"time"

	"kbench/harness/netfault"
)

// NetworkTuning is what is wrong with the network of every node for as long as
// the cluster runs, clients' connections included. The zero value is nothing.
type NetworkTuning struct {
	Delay         time.Duration // of every packet that leaves a node
	Jitter        time.Duration // how far a packet's delay may lie from Delay
	LossPerMille  int           // packets of a thousand lost on the way to a node
	KbitPerSecond int           // of all packets that leave a node; 0 is no bound
}

// Faults are what makes it so on one node.
func (n NetworkTuning) Faults() []netfault.Fault {
	var out []netfault.Fault
	if n.Delay > 0 {
		out = append(out, netfault.Fault{Kind: netfault.Delay, Delay: n.Delay, Jitter: n.Jitter})
	}
	if n.LossPerMille > 0 {
		out = append(out, netfault.Fault{Kind: netfault.Loss, Direction: netfault.In, Share: float64(n.LossPerMille) / 1000})
	}
	if n.KbitPerSecond > 0 {
		out = append(out, netfault.Fault{Kind: netfault.Rate, BitsPerSecond: uint64(n.KbitPerSecond) * 1000})
	}
	return out
}

// minKbit is the least bandwidth with which a cluster can be expected to start.
const minKbit = 64

// check gives what is wrong with the values together.
func (n NetworkTuning) check(bad func(what, cure string, paths ...string)) {
	if n.Jitter > n.Delay {
		bad(formatDuration(n.Jitter)+" with a delay of "+formatDuration(n.Delay), "write at most the delay", "network.jitter", "network.delay")
	}
	if n.KbitPerSecond > 0 && n.KbitPerSecond < minKbit {
		bad(formatCount(int64(n.KbitPerSecond))+" is so little that nothing would work", "write at least "+formatCount(minKbit)+", or 0 for no bound", "network.kbitPerSecond")
	}
}

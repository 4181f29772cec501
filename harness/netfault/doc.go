// Package netfault says what is wrong with a node's network: packets dropped,
// lost at random, delayed or slowed, and which filter rules make it so.
//
// It owns the kinds of fault, their bounds and their rules, and must not know
// how a kernel is told (harness/netfault/agent does) or where a node runs. All
// of it is pure: the same faults give the same Program.
//
// Faults are seen from the node in whose network they are made. A link that is
// cut in one direction is cut where its packets arrive, as if they were lost on
// the way.
//
//	p, err := netfault.Compile([]netfault.Fault{netfault.Isolation()})
//	fmt.Print(p) // input iif != lo drop ...
package netfault

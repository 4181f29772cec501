// Package agent makes network faults from inside a node's network namespace,
// and looks from there what still passes.
//
// Serve is the program: it runs as `kbench netfault` in the namespace of one
// node, needs CAP_NET_ADMIN there and no tool of the machine, and obeys lines
// of JSON on its input. Whatever it did is undone when its input ends, so that
// a fault does not outlive the run that made it. Client is the other end, held
// by a provider; its methods may be called from any goroutine.
//
// It must not know what the node is, nor when a fault is due. Drops and losses
// are rules of nftables, applied in one transaction; a rate is the queueing
// discipline tbf, a delay netem, which not every kernel has: Set says so.
//
//	c, err := agent.Connect(ctx, conn)
//	err = c.Set(ctx, []netfault.Fault{netfault.Isolation()})
//	_, err = c.Reach(ctx, peer, 300*time.Millisecond) // fails
//	err = c.Set(ctx, nil)                             // healed
package agent

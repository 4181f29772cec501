// Package child is one child process of kbench over its starts and ends: what
// a node of kbench and a server of ZooKeeper have in common.
//
// It owns the process, the stamps of its signals and of its exit, and the
// record by which a later clean-up recognises it, and copies what it wrote. It must not know what runs.
// harness/process and harness/zookeeper embed a Process in their nodes; its
// methods may be called from any goroutine.
//
//	p := child.New("broker-1", "run/broker-1/pid")
//	err := p.Launch(cmd, nil)
//	sent, err := p.Signal(ctx, provider.Term)
//	seen, code, err := p.Wait(ctx)
package child

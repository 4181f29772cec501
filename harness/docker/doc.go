// Package docker runs nodes as containers. It alone imports testcontainers-go
// and the engine's client.
//
// It owns the network, containers, volumes and images of a run and must not
// know what a node does. A Provider belongs to one cluster; its nodes may be
// used from any goroutine.
//
// Every run has a bridge network of its own, in which each node has a fixed
// address that survives restarts. The harness talks to these addresses over the
// bridge; no port is published, so nothing goes through docker-proxy. Data is
// in a volume for each node, on the engine's disk.
//
// Faults of the network are made by a sidecar of the node image in the network of
// a node's container, with NET_ADMIN and no other capability. It is started by
// the first use and ends with its input, that is with kbench.
//
// Containers, networks and volumes carry the labels kbench.run, kbench.host,
// kbench.pid and kbench.started; Sweep removes those whose owner is gone.
// Testcontainers' own reaper is switched off: its image would have to be pulled.
//
// A signal to a local engine's container goes straight to its process, and the
// process' end is seen by the kernel's pidfd, so that the stamps of a fault are
// the same as of a child process; with a remote engine both go by its API.
//
//	p, err := docker.New(ctx, docker.Config{Name: "nightly-1", Binary: exe})
//	defer p.Close(ctx)
//	host, ports, err := p.Reserve(ctx, "broker-1", 1)
//	n, err := p.Launch(ctx, cfg)
package docker

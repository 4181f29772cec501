// Package heldport keeps TCP ports for servers that are started later, or
// stopped and started again.
//
// A port that was chosen by listening and closing belongs to nobody: until its
// server listens, the kernel may give it to another listener or to an outgoing
// connection, be it one of a client that tries to reach that very server. A held
// port is bound by a socket that does not listen. The kernel gives it to nobody
// by itself, connections to it are refused, and a server that names it listens,
// since it sets SO_REUSEADDR, as servers in Go and Java do.
//
// Providers of nodes hold the ports of a cluster for as long as it lives, from
// any goroutine:
//
//	port, err := heldport.Hold("127.0.0.1")
//	defer port.Release()
//
// It knows no server. Package heldtest holds ports for tests.
package heldport

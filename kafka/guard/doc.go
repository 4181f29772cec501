// Package guard stands before the handlers of a node and lets through what the
// authorizer allows: the rules that say which operation on which resource each
// request of the Kafka protocol needs.
//
// It owns those rules and the shape of refusals. It must not know what a
// request does, nor where ACLs are kept: the authorizer is asked for anew for
// each request. A handler sees only those items of a request that its client
// may touch; the guard answers for the others. It runs on the goroutine of the
// connection and keeps no state but the index of the ACLs that OverImage looked
// at last.
//
//	g := guard.OverImage(&access.Config{SuperUsers: admins}, node.Image, node.Ready)
//	srv, err := wire.NewServer(wire.ServerConfig{APIs: g.Wrap(node.APIs())})
package guard

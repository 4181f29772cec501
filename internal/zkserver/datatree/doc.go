// Package datatree is the state of a ZooKeeper server: znodes, durable
// sessions with their ephemerals, and the table of watches.
//
// It owns ZooKeeper's semantics: what a transaction does, its error codes, the
// stat it leaves and the watch events it causes. It must not know of sockets,
// files, clocks or goroutines: zxid and time come in with the transaction. The
// server's core goroutine is the only caller; a snapshot writer owns a tree of
// its own. The same transactions in the same order give equal trees, which is
// how the log recovers one.
//
//	t := datatree.New()
//	res := t.Apply(&datatree.Txn{Zxid: 1, Kind: datatree.OpenSession, Session: 7, TimeoutMs: 2000})
//	res = t.Apply(&datatree.Txn{Zxid: 2, Kind: datatree.Write, Session: 7, Changes: changes})
//	if res.Err != proto.OK { /* nothing has changed */ }
//
// A failed transaction changes nothing. Access lists are kept and returned,
// not enforced.
package datatree

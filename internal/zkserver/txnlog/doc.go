// Package txnlog keeps the transactions of the embedded ZooKeeper server on
// disk: a log of checksummed records that is synced before anything is
// acknowledged, and snapshots that let old logs go.
//
// It owns files and their format and knows nothing of sessions, sockets or
// time. The server's sync goroutine appends; at start one goroutine recovers;
// a compaction works on files the appender has left.
//
//	tree, log, rec, err := txnlog.Open(txnlog.OS(), dir)
//	err = log.Append(records)   // one or more records made by AppendRecord
//	err = log.Sync()            // only now may they be acknowledged
//
// A torn tail of the newest log is cut off and reported: it can only hold what
// was never acknowledged. A fault anywhere else stops the server from
// starting. After an error of Append or Sync the log is broken for good,
// because nobody knows what the kernel still holds.
//
// Files: log.<hex zxid of the first record>, snapshot.<hex zxid of the last
// transaction in it>; both begin with an 8-byte magic, then records of length
// (4 bytes), CRC-32C (4) and payload, big-endian. A snapshot ends with an
// empty record and is written to a temporary name, synced and renamed.
package txnlog

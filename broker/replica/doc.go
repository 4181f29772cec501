// Package replica is the broker's replica manager: which partitions it leads
// or follows, how far each log and each follower is, who is in sync, and the
// incremental fetch sessions (KIP-227) between leaders and followers.
//
// It owns the state of the replicas and keeps offsets without payload. It must
// not know connections, clocks, controllers or either mode: callers hand in
// the time and the metadata that applies, and carry fetches and AlterPartition
// requests. Every method locks the Manager for a short time and may be called
// from any goroutine; nothing here starts a goroutine, and no cost is paid for
// a partition to which nothing happens: an incremental fetch session keeps the
// list of what changed instead of looking at all its partitions.
//
// One replica takes about 180 bytes at replication factor 3. A leader's
// changes go through these states:
//
//	follower (or none) -> leader        metadata names this broker, a new epoch
//	leader -> leader                    same epoch: a newer ISR; new epoch: followers begin anew
//	leader -> follower                  metadata names another leader
//	any -> none                         the replica was removed, or its topic
//	any -> offline                      its log directory failed; only removal follows
//	ISR grows                           a follower fetched up to the high watermark: Take, then Complete
//	ISR shrinks                         CheckLag found a follower behind for too long
//
// Use:
//
//	m := replica.NewManager(replica.Config{Self: 1, LagMax: 30 * time.Second, OnFetcher: start})
//	m.Apply(now, []replica.Change{{Topic: "t", TopicID: id, Partition: 0, State: state}})
//	r := m.Append(now, replica.Append{Topic: "t", Partition: 0, Batch: header, MinISR: 1})
package replica

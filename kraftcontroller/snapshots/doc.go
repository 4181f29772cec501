// Package snapshots has a node of the quorum write snapshots of the metadata that
// it has replayed, as Kafka's SnapshotGenerator does: controllers and brokers alike,
// each of its own log, which its raft client then cuts by retention.
//
// It owns when a snapshot is due, and its writing. It must not know how an image
// came about, nor when log may go (raftclient does). Whoever replays the log calls
// Committed and Loaded on its one goroutine, which they never hold up; Run writes on
// another, one snapshot at a time, from an image that never changes.
//
//	g := snapshots.New(client, snapshots.Config{})
//	go g.Run(ctx)
//	g.Committed(&batch, image) // after each batch
package snapshots

// Package metalog keeps the metadata log of one node in Kafka's own formats,
// byte for byte: record batches v2 in segments, snapshots, quorum-state and
// meta.properties.
//
// A data directory looks as Kafka's:
//
//	meta.properties                                     whose directory this is
//	bootstrap.checkpoint                                what the cluster begins with, as Kafka before 4.2 keeps it
//	.lock                                               held while a process uses it
//	__cluster_metadata-0/
//	  00000000000000000000.log                          record batches, named by first offset
//	  00000000000000000812-0000000003.checkpoint        snapshot: end offset (exclusive), epoch
//	  00000000000000000000-0000000000.checkpoint        what formatting wrote: first records, first voters
//	  quorum-state                                      epoch, leader and vote
//	  leader-epoch-checkpoint                           epochs of which a record is durable: what the log must reach
//	  partition.metadata                                for Kafka's own tools
//
// It owns bytes and files. It must not know what a record means, who leads,
// or what is committed: raftclient decides what is appended, truncated and
// synced. It never decides by itself that an fsync may be left out, and no
// failure of one is ever swallowed: an error of Flush is final for the Log, and so
// is that of a snapshot's fsync.
//
// One goroutine writes (Append, Flush, the truncations, snapshots); reads may
// come from any goroutine. Every file operation goes through FS, so that tests
// can lose unsynced writes, fail an fsync and fill the disk.
//
// Example:
//
//	log, err := metalog.Open(metalog.Config{FS: metalog.OS(), Dir: dir})
//	raw, err := metalog.Batch{Epoch: 3, BaseOffset: log.EndOffset(), Records: recs}.Append(nil)
//	err = log.Append(raw)
//	err = log.Flush()
//	raw, err = log.Read(0, 8<<20)
package metalog

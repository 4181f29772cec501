// Package quorumlog takes the metadata logs of all voters of a KRaft quorum out
// of their files, keeps them as one file in a run folder, and judges them: that
// the logs are those of one Raft, and that what they hold is sound metadata.
//
// Logs of one quorum are equal but for their ends, so each batch is kept once,
// with the voters that hold it, beside the last snapshots:
//
//	{"voters":[1001,1002,1003]}
//	{"told":{"kind":"controller.shutdown-granted",…}}   what nodes traced
//	{"held":[1001,1002,1003],"bytes":81}       and 81 bytes, a record batch v2
//	{"held":[1001],"snapshot":"…","bytes":902} and 902 bytes, a snapshot's file
//	{"end":true}
//
// A run of 100,000 partitions that loses controllers and brokers a few times keeps
// 4 MB, which are judged in some 1.2 s and 80 MiB of memory; one of 1,000,000 keeps
// 11 MB, and takes 3.3 s and 550 MiB. A voter drops log that its newest snapshot
// holds where there are more than 100 MiB, which bounds the file of a long run.
//
// It owns that file, what follows from several logs together, and the order in
// which records are handed to checker.Metadata. It must not know how a run goes,
// and it asks no node: what is committed follows from what a majority holds. The
// harness calls it at the end of a cell, while the voters may still run, and
// kbench verify when a run is judged again; everything runs on the caller's
// goroutine.
//
//	err := quorumlog.Store(file, []quorumlog.Voter{{ID: 1001, Dir: logDir}, ...}, events)
//	...
//	result, err := quorumlog.Judge(file)
package quorumlog

// Package batch reads the headers of record batches and keeps what a log
// without payload needs of them: how many offsets a batch takes, and the
// sequence numbers of idempotent producers (KIP-98, KIP-360).
//
// It owns Kafka's batch format, magic 2, as far as its header goes, and the
// acceptance of sequence numbers. It must not know partitions, leaders,
// connections or time. Package broker/replica calls it, under its own lock; a
// Producers belongs to one partition and is not safe for concurrent use.
//
// A leader that dropped the records still replicates their offsets: it sends
// batches without records, as a log cleaner leaves them behind, and those
// carry the producer's id, epoch and sequence, so that a new leader knows what
// a producer sent to the old one:
//
//	b := batch.AppendEmpty(nil, batch.Header{BaseOffset: 7, Count: 3, ProducerID: batch.NoProducer})
//	h, _, err := batch.Read(b) // h.Next() == 10, h.Records == 0
package batch

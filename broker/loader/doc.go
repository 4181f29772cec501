// Package loader turns what a broker hears of the metadata log into the images
// that it publishes, as Kafka's MetadataLoader does: committed batches and
// snapshots go in, images with what changed come out.
//
// It owns what may be shown: nothing before the broker has caught up with the
// high watermark once, and nothing of a metadata transaction (KIP-866) that has
// not ended. It must not know who shows an image nor where batches come from; no
// goroutine, lock, clock or file. The broker's raft client calls it on one
// goroutine, and so does the simulation (internal/sim) for its brokers.
//
//	l := loader.New(func(p loader.Publication) { broker.show(p.Image, p.Delta) })
//	err := l.Commit(batches, highWatermark)
package loader

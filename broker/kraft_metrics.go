package broker

import (
	"maps"
	"sync/atomic"

	"kbench/kafka/metadata"
)

// The names that Kafka gives its beans.
const (
	appliedBean     = "kafka.server:type=broker-metadata-metrics,name="
	loaderBean      = "kafka.server:type=MetadataLoader,name="
	snapshotBean    = "kafka.server:type=SnapshotEmitter,name="
	assignmentsBean = "kafka.server:type=AssignmentsManager,name="
)

// applied is what the publisher tells of the metadata that the broker has. The
// raft client's goroutine writes; others read.
type applied struct {
	offset    atomic.Int64 // of the last record published
	timestamp atomic.Int64 // of its batch, ms since 1970
	snapshots atomic.Int64 // loaded
	failed    atomic.Int64 // batches and snapshots that did not replay, each the end of the broker
}

// Gauges gives the broker's metrics under Kafka's names: none where ZooKeeper has
// the metadata, since Kafka has these in KRaft mode alone. Each function may be
// called from any goroutine, at any time. To apply an image cannot fail here, so
// that there is no metadata-apply-error-count.
func (b *Broker) Gauges() map[string]func() int64 {
	p, ok := b.plane.(*kraftPlane)
	if !ok {
		return nil
	}
	gauges := map[string]func() int64{
		appliedBean + "last-applied-record-offset":    p.applied.offset.Load,
		appliedBean + "last-applied-record-timestamp": p.applied.timestamp.Load,
		appliedBean + "last-applied-record-lag-ms":    p.lagMs,
		appliedBean + "metadata-load-error-count":     p.applied.failed.Load,
		loaderBean + "CurrentControllerId":            func() int64 { return int64(p.leader.Load().Leader) },
		loaderBean + "CurrentMetadataVersion":         func() int64 { return int64(b.Image().FeatureLevel(metadata.MetadataVersionFeature)) },
		loaderBean + "HandleLoadSnapshotCount":        p.applied.snapshots.Load,
		assignmentsBean + "QueuedReplicaToDirAssignments": func() int64 {
			p.assign.mu.Lock()
			defer p.assign.mu.Unlock()
			return int64(len(p.assign.queued))
		},
	}
	if p.snapshots != nil {
		gauges[snapshotBean+"LatestSnapshotGeneratedBytes"] = p.snapshots.LatestBytes
		gauges[snapshotBean+"LatestSnapshotGeneratedAgeMs"] = p.snapshots.LatestAgeMs
	}
	maps.Copy(gauges, p.client.Gauges())
	return gauges
}

// lagMs is how old the last record published is.
func (p *kraftPlane) lagMs() int64 {
	at := p.applied.timestamp.Load()
	if at == 0 {
		return 0
	}
	return max(p.b.cfg.Now().UnixMilli()-at, 0)
}

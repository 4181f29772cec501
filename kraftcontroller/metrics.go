package kraftcontroller

import (
	"sync/atomic"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// counters are what the loop counts for metrics.
type counters struct {
	applied     atomic.Int64 // offset of the last record replayed
	timestamp   atomic.Int64 // of the last committed batch, ms
	started     atomic.Int64 // steps begun
	leaders     atomic.Int64 // active controllers heard of
	unclean     atomic.Int64 // elections
	snapshotted atomic.Int64 // bytes of the last snapshot written
}

// The names that Kafka gives its beans.
const (
	controllerBean = "kafka.controller:type=KafkaController,name="
	raftBean       = "kafka.server:type=raft-metrics,name="
	loaderBean     = "kafka.server:type=MetadataLoader,name="
)

// Gauges gives the controller's metrics under Kafka's names. Each function may
// be called from any goroutine, at any time, and costs at most a walk over the
// brokers.
func (c *Controller) Gauges() map[string]func() int64 {
	image := func(f func(*metadata.Image) int) func() int64 {
		return func() int64 { return int64(f(c.View().Image)) }
	}
	return map[string]func() int64{
		controllerBean + "ActiveControllerCount": func() int64 {
			if c.View().Active {
				return 1
			}
			return 0
		},
		controllerBean + "FencedBrokerCount":                                      image(func(i *metadata.Image) int { return i.NumBrokers() - unfencedBrokers(i) }),
		controllerBean + "ActiveBrokerCount":                                      image(unfencedBrokers),
		controllerBean + "GlobalTopicCount":                                       image((*metadata.Image).NumTopics),
		controllerBean + "GlobalPartitionCount":                                   image((*metadata.Image).NumPartitions),
		controllerBean + "OfflinePartitionsCount":                                 image((*metadata.Image).OfflineCount),
		controllerBean + "PreferredReplicaImbalanceCount":                         image((*metadata.Image).ImbalanceCount),
		controllerBean + "LastAppliedRecordOffset":                                c.counters.applied.Load,
		controllerBean + "LastAppliedRecordTimestamp":                             c.counters.timestamp.Load,
		controllerBean + "LastAppliedRecordLagMs":                                 c.lagMs,
		controllerBean + "LastCommittedRecordOffset":                              func() int64 { return int64(c.client.HighWatermark()) - 1 },
		controllerBean + "NewActiveControllersCount":                              c.counters.leaders.Load,
		controllerBean + "EventQueueOperationsStartedCount":                       c.counters.started.Load,
		"kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec": c.counters.unclean.Load,
		raftBean + "current-leader":                                               func() int64 { return int64(c.client.Leader().Leader) },
		raftBean + "current-epoch":                                                func() int64 { return int64(c.client.Leader().Epoch) },
		raftBean + "high-watermark":                                               func() int64 { return int64(c.client.HighWatermark()) },
		raftBean + "log-end-offset":                                               func() int64 { return int64(c.client.LogEndOffset()) },
		loaderBean + "CurrentControllerId":                                        func() int64 { return int64(c.client.Leader().Leader) },
		loaderBean + "CurrentMetadataVersion":                                     image(func(i *metadata.Image) int { return int(i.FeatureLevel(metadata.MetadataVersionFeature)) }),
		"kafka.server:type=SnapshotEmitter,name=LatestSnapshotGeneratedBytes":     c.counters.snapshotted.Load,
	}
}

// lagMs is how old the last committed batch is; that of the active controller
// is 0, since it has applied more than it has committed.
func (c *Controller) lagMs() int64 {
	at := c.counters.timestamp.Load()
	if c.View().Active || at == 0 {
		return 0
	}
	return max(c.cfg.Raft.Now().UnixMilli()-at, 0)
}

func unfencedBrokers(image *metadata.Image) int {
	n := 0
	for b := range image.Brokers() {
		if !b.Fenced {
			n++
		}
	}
	return n
}

// heardLeader counts the active controllers, each epoch once.
func (c *Controller) heardLeader(leader kafka.BrokerID) {
	if leader != kafka.NoLeader {
		c.counters.leaders.Add(1)
	}
}

package kraftcontroller

import (
	"fmt"
	"maps"
	"sync/atomic"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// counters are what the loop counts for metrics.
type counters struct {
	applied   atomic.Int64 // offset of the last record replayed
	timestamp atomic.Int64 // of the last committed batch, ms
	started   atomic.Int64 // steps begun
	leaders   atomic.Int64 // active controllers heard of
	unclean   atomic.Int64 // elections
	loads     atomic.Int64 // snapshots loaded
	errors    atomic.Int64 // steps that failed, each the end of the controller

	timedOut, heartbeatsTimedOut atomic.Int64 // requests whose client left before the answer, or that waited too long for the loop
	queueTime, processingTime    latencies    // of requests
}

// The names that Kafka gives its beans.
const (
	controllerBean = "kafka.controller:type=KafkaController,name="
	loaderBean     = "kafka.server:type=MetadataLoader,name="
	snapshotBean   = "kafka.server:type=SnapshotEmitter,name="
	queueBean      = "kafka.controller:type=ControllerEventManager,name="
)

// Gauges gives the controller's metrics under Kafka's names; one that Kafka gives
// as a histogram has the attribute behind its name. Each function may
// be called from any goroutine, at any time, and costs at most a walk over the
// brokers.
func (c *Controller) Gauges() map[string]func() int64 {
	gauges := c.controllerGauges()
	maps.Copy(gauges, c.client.Gauges())
	for name, l := range map[string]*latencies{"EventQueueTimeMs": &c.counters.queueTime, "EventQueueProcessingTimeMs": &c.counters.processingTime} {
		gauges[queueBean+name+":Count"] = l.count
		gauges[queueBean+name+":Max"] = l.maxMs
		for _, percent := range []int64{50, 99} {
			gauges[fmt.Sprintf("%s%s:%dthPercentile", queueBean, name, percent)] = func() int64 { return l.percentileMs(percent) }
		}
	}
	return gauges
}

// controllerGauges are those of the event loop and the metadata.
func (c *Controller) controllerGauges() map[string]func() int64 {
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
		controllerBean + "ControlledShutdownBrokerCount":                          image(leavingBrokers),
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
		controllerBean + "EventQueueOperationsTimedOutCount":                      c.counters.timedOut.Load,
		controllerBean + "TimedOutBrokerHeartbeatCount":                           c.counters.heartbeatsTimedOut.Load,
		controllerBean + "MetadataErrorCount":                                     c.counters.errors.Load,
		"kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec": c.counters.unclean.Load,
		loaderBean + "CurrentControllerId":                                        func() int64 { return int64(c.client.Leader().Leader) },
		loaderBean + "CurrentMetadataVersion":                                     image(func(i *metadata.Image) int { return int(i.FeatureLevel(metadata.MetadataVersionFeature)) }),
		loaderBean + "HandleLoadSnapshotCount":                                    c.counters.loads.Load,
		snapshotBean + "LatestSnapshotGeneratedBytes":                             c.snapshots.LatestBytes,
		snapshotBean + "LatestSnapshotGeneratedAgeMs":                             c.snapshots.LatestAgeMs,
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

func leavingBrokers(image *metadata.Image) int {
	n := 0
	for b := range image.Brokers() {
		if b.InControlledShutdown {
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

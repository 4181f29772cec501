package harness

import (
	"time"

	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

// shapeOf resolves what a cell asks for into what its nodes are told.
func shapeOf(c spec.Cell, clusterID kafka.UUID) shape {
	cfg := c.Config
	s := shape{
		mode:        nodeconfig.ModeZK,
		brokers:     cfg.Cluster.Brokers,
		controllers: cfg.Cluster.Controllers,
		perNode:     max(cfg.Cluster.BrokersPerNode, 1),
		clusterID:   clusterID,
		zkSession:   cfg.ZK.SessionTimeout,
		logDirs:     int(cfg.Cluster.LogDirs),
		timers: nodeconfig.Timers{
			FetchTimeout:              nodeconfig.Duration(cfg.KRaft.FetchTimeout),
			ElectionTimeout:           nodeconfig.Duration(cfg.KRaft.ElectionTimeout),
			ElectionBackoffMax:        nodeconfig.Duration(cfg.KRaft.ElectionBackoffMax),
			BrokerSession:             nodeconfig.Duration(cfg.Broker.SessionTimeout),
			BrokerHeartbeat:           nodeconfig.Duration(cfg.Broker.HeartbeatInterval),
			ReplicaLagMax:             nodeconfig.Duration(cfg.Broker.ReplicaLagMax),
			ControlledShutdownBackoff: nodeconfig.Duration(cfg.Broker.ShutdownBackoff),
		},
		tuning: nodeconfig.Tuning{
			ZKMaxInFlight:         cfg.ZK.MaxInFlight,
			ZKUnfencedWrites:      !cfg.ZK.FencedWrites,
			ZKPerPartitionRequest: cfg.ZK.PerPartitionRequests,
			ZKStatesPerMulti:      cfg.ZK.StatesPerMulti,
			ZKNoBrokerEpochs:      !cfg.ZK.BrokerEpochs,
			ZKFullMetadata:        cfg.ZK.FullMetadata,
			ZKStateChangeLog:      cfg.ZK.StateChangeLog,
			ZKProtocol:            cfg.ZK.Protocol,
			AppendLinger:          pointer(cfg.KRaft.AppendLinger),
			NoOpInterval:          pointer(cfg.KRaft.NoOpInterval),
			NoHWPush:              !cfg.KRaft.HWPush,
			NoPreVote:             !cfg.KRaft.PreVote,
			MetadataVersion:       beginsAt(c),
		},
	}
	s.colocated = s.controllers == spec.Colocated
	s.control = c.Target.InZooKeeper() && cfg.ZK.ControlPlaneListener
	if !c.Target.InZooKeeper() {
		s.mode = nodeconfig.ModeKRaft
		s.tuning.RaftPush = c.Target == spec.RaftPush
	}
	s.kafka = kafkaShapeOf(c)
	return s
}

// beginsAt is the metadata.version that the cell's spec names, "" where it leaves
// it to the target.
func beginsAt(c spec.Cell) string {
	if v := c.Config.KRaft.MetadataVersion; v != 0 && !c.Target.InZooKeeper() {
		return v.String()
	}
	return ""
}

func pointer(d time.Duration) *nodeconfig.Duration {
	v := nodeconfig.Duration(d)
	return &v
}

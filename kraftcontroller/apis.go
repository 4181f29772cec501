package kraftcontroller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raft"
)

// decided are the requests that the machine decides, with the versions of Kafka
// 4. Those that a broker may forward for its clients come in an Envelope too.
var decided = []struct {
	key, lowest, highest int16
	forwarded            bool
}{
	{key: 19, highest: 7, forwarded: true}, // CreateTopics
	{key: 20, highest: 6, forwarded: true}, // DeleteTopics
	{key: 30, highest: 3, forwarded: true}, // CreateAcls
	{key: 31, highest: 3, forwarded: true}, // DeleteAcls
	{key: 33, highest: 2, forwarded: true}, // AlterConfigs
	{key: 37, highest: 3, forwarded: true}, // CreatePartitions
	{key: 38, highest: 3, forwarded: true}, // CreateDelegationToken
	{key: 39, highest: 2, forwarded: true}, // RenewDelegationToken
	{key: 40, highest: 2, forwarded: true}, // ExpireDelegationToken
	{key: 43, highest: 2, forwarded: true}, // ElectLeaders
	{key: 44, highest: 1, forwarded: true}, // IncrementalAlterConfigs
	{key: 45, highest: 1, forwarded: true}, // AlterPartitionReassignments
	{key: 46, highest: 0, forwarded: true}, // ListPartitionReassignments
	{key: 49, highest: 1, forwarded: true}, // AlterClientQuotas
	{key: 51, highest: 0, forwarded: true}, // AlterUserScramCredentials
	{key: 56, highest: 3},                  // AlterPartition
	{key: 57, highest: 2, forwarded: true}, // UpdateFeatures
	{key: 62, highest: 4},                  // BrokerRegistration
	{key: 63, highest: 2},                  // BrokerHeartbeat
	{key: 64, highest: 0, forwarded: true}, // UnregisterBroker
	{key: 67, highest: 0},                  // AllocateProducerIds
	{key: 70, highest: 0},                  // ControllerRegistration
	{key: 73, highest: 0},                  // AssignReplicasToDirs
	{key: 94, highest: 0, forwarded: true}, // UnregisterController
}

// APIs are what a controller serves on its listener: the quorum's, and the
// controller's own, with the authorizer before them.
func (c *Controller) APIs() []wire.API {
	apis := c.client.APIs()
	for _, d := range decided {
		apis = append(apis, wire.API{Key: d.key, MinVersion: d.lowest, MaxVersion: d.highest, Handle: c.serve})
	}
	return c.guard.Wrap(append(apis,
		wire.API{Key: 29, MinVersion: 0, MaxVersion: 3, Handle: c.serveDescribeACLs},
		wire.API{Key: 32, MaxVersion: 4, Handle: c.serveDescribeConfigs},
		wire.API{Key: 58, MaxVersion: 0, Handle: c.serveEnvelope},
		wire.API{Key: 60, MaxVersion: 2, Handle: c.serveDescribeCluster},
	))
}

// Features completes an answer to ApiVersions: what this controller supports,
// and what is finalized.
func (c *Controller) Features(resp *kmsg.ApiVersionsResponse) {
	supported := metadata.SupportedFeatures()
	for _, name := range metadata.FeatureNames() {
		if resp.Version < 4 && supported[name].Min == 0 {
			continue // older clients take a range from 0 for a fault (KAFKA-17492)
		}
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MinVersion, s.MaxVersion = name, supported[name].Min, supported[name].Max
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
	}
	if resp.Version >= 4 {
		k := kmsg.NewApiVersionsResponseSupportedFeature()
		k.Name, k.MinVersion, k.MaxVersion = metadata.KRaftVersionFeature, raft.SupportedKRaft.Min, raft.SupportedKRaft.Max
		resp.SupportedFeatures = append(resp.SupportedFeatures, k)
	}

	image := c.View().Image
	resp.FinalizedFeaturesEpoch = int64(image.Offset())
	for name, level := range image.Features() {
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, level, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
	if level := c.client.Quorum().KRaftVersion; level > 0 {
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = metadata.KRaftVersionFeature, level, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
}

package guard

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/refusal"
	"kbench/kafka/wire"
)

// clusterOperations are the requests that need one operation on the cluster,
// by key.
var clusterOperations = map[int16]access.Operation{
	4:  access.ClusterAction, // LeaderAndIsr
	5:  access.ClusterAction, // StopReplica
	6:  access.ClusterAction, // UpdateMetadata
	7:  access.ClusterAction, // ControlledShutdown
	29: access.Describe,      // DescribeAcls
	30: access.Alter,         // CreateAcls
	31: access.Alter,         // DeleteAcls
	35: access.Describe,      // DescribeLogDirs
	43: access.Alter,         // ElectLeaders
	45: access.Alter,         // AlterPartitionReassignments
	46: access.Describe,      // ListPartitionReassignments
	48: access.DescribeConfigs,
	49: access.AlterConfigs,  // AlterClientQuotas
	50: access.Describe,      // DescribeUserScramCredentials
	51: access.Alter,         // AlterUserScramCredentials
	52: access.ClusterAction, // Vote
	53: access.ClusterAction, // BeginQuorumEpoch
	54: access.ClusterAction, // EndQuorumEpoch
	55: access.Describe,      // DescribeQuorum
	56: access.ClusterAction, // AlterPartition
	57: access.Alter,         // UpdateFeatures
	58: access.ClusterAction, // Envelope
	59: access.ClusterAction, // FetchSnapshot
	62: access.ClusterAction, // BrokerRegistration
	63: access.ClusterAction, // BrokerHeartbeat
	64: access.Alter,         // UnregisterBroker
	67: access.ClusterAction, // AllocateProducerIds
	70: access.ClusterAction, // ControllerRegistration
	73: access.ClusterAction, // AssignReplicasToDirs
	74: access.DescribeConfigs,
	80: access.Alter,         // AddRaftVoter
	81: access.Alter,         // RemoveRaftVoter
	82: access.ClusterAction, // UpdateRaftVoter
	94: access.Alter,         // UnregisterController
}

// controllerOperations are the requests that need one operation on the cluster
// where a controller is asked.
var controllerOperations = map[int16]access.Operation{
	1:  access.ClusterAction, // Fetch: there is the metadata log alone, with its secrets
	60: access.Alter,         // DescribeCluster (KIP-919)
}

// clusterOperation gives the operation on the cluster that a key needs; false
// where it needs none, or its own rule.
func (g Guard) clusterOperation(key int16) (access.Operation, bool) {
	if op, ok := controllerOperations[key]; ok && g.Controller {
		return op, true
	}
	op, ok := clusterOperations[key]
	return op, ok
}

// whole refuses all of a request without op on the cluster.
func whole(op access.Operation) rule {
	return func(c client, r *wire.Request, next func() (kmsg.Response, error)) (kmsg.Response, error) {
		if c.mayCluster(op) {
			return next()
		}
		return refusal.Of(r.Body, kafka.ClusterAuthorizationFailed, ""), nil
	}
}

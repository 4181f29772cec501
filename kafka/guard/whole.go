package guard

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
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
	80: access.Alter,         // AddRaftVoter
	81: access.Alter,         // RemoveRaftVoter
	82: access.ClusterAction, // UpdateRaftVoter
	94: access.Alter,         // UnregisterController
}

// wholeRule refuses all of a request.
func wholeRule(c client, r *wire.Request, next func() (kmsg.Response, error)) (kmsg.Response, error) {
	if c.mayCluster(clusterOperations[r.Key]) {
		return next()
	}
	return refuse(r.Body, kafka.ClusterAuthorizationFailed), nil
}

// refuse answers a request with one code: at the top where its response has a
// code there, else in one result for each item that it asked for.
func refuse(body kmsg.Request, code kafka.ErrorCode) kmsg.Response {
	resp := body.ResponseKind()
	switch resp := resp.(type) {
	case *kmsg.CreateACLsResponse:
		for range body.(*kmsg.CreateACLsRequest).Creations {
			item := kmsg.NewCreateACLsResponseResult()
			item.ErrorCode = int16(code)
			resp.Results = append(resp.Results, item)
		}
		return resp
	case *kmsg.DeleteACLsResponse:
		for range body.(*kmsg.DeleteACLsRequest).Filters {
			item := kmsg.NewDeleteACLsResponseResult()
			item.ErrorCode = int16(code)
			resp.Results = append(resp.Results, item)
		}
		return resp
	case *kmsg.AlterClientQuotasResponse:
		for _, e := range body.(*kmsg.AlterClientQuotasRequest).Entries {
			item := kmsg.NewAlterClientQuotasResponseEntry()
			item.ErrorCode = int16(code)
			for _, part := range e.Entity {
				p := kmsg.NewAlterClientQuotasResponseEntryEntity()
				p.Type, p.Name = part.Type, part.Name
				item.Entity = append(item.Entity, p)
			}
			resp.Entries = append(resp.Entries, item)
		}
		return resp
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		req := body.(*kmsg.AlterUserSCRAMCredentialsRequest)
		for _, d := range req.Deletions {
			resp.Results = append(resp.Results, refusedUser(d.Name, code))
		}
		for _, u := range req.Upsertions {
			resp.Results = append(resp.Results, refusedUser(u.Name, code))
		}
		return resp
	}
	// Every other response of the table has its code at the top.
	reflect.ValueOf(resp).Elem().FieldByName("ErrorCode").SetInt(int64(code))
	return resp
}

func refusedUser(name string, code kafka.ErrorCode) kmsg.AlterUserSCRAMCredentialsResponseResult {
	item := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
	item.User, item.ErrorCode = name, int16(code)
	return item
}

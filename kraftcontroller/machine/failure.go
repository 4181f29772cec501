package machine

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
)

// failure answers a request with one error for all that it asks for, as
// Kafka's getErrorResponse does. A response kind that the machine does not
// know comes without an error code: requests of other keys must not be stepped.
func failure(body kmsg.Request, code kafka.ErrorCode, message string) kmsg.Response {
	err := admin.Faultf(code, "%s", message)
	kresp := body.ResponseKind()
	switch resp := kresp.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range body.(*kmsg.CreateTopicsRequest).Topics {
			resp.Topics = append(resp.Topics, createTopicError(t.Topic, code, message))
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range deleteTargets(body.(*kmsg.DeleteTopicsRequest)) {
			resp.Topics = append(resp.Topics, t.answer(code, message))
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range body.(*kmsg.CreatePartitionsRequest).Topics {
			resp.Topics = append(resp.Topics, createPartitionsAnswer(t.Topic, code, message))
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, res := range body.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, alterConfigsAnswer(res, err))
		}
	case *kmsg.AlterConfigsResponse:
		for _, res := range body.(*kmsg.AlterConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, replaceConfigsAnswer(res, err))
		}
	case *kmsg.CreateACLsResponse:
		for range body.(*kmsg.CreateACLsRequest).Creations {
			answer := kmsg.NewCreateACLsResponseResult()
			answer.ErrorCode, answer.ErrorMessage = told(err)
			resp.Results = append(resp.Results, answer)
		}
	case *kmsg.DeleteACLsResponse:
		for range body.(*kmsg.DeleteACLsRequest).Filters {
			answer := kmsg.NewDeleteACLsResponseResult()
			answer.ErrorCode, answer.ErrorMessage = told(err)
			resp.Results = append(resp.Results, answer)
		}
	case *kmsg.AlterClientQuotasResponse:
		req := body.(*kmsg.AlterClientQuotasRequest)
		for i := range req.Entries {
			resp.Entries = append(resp.Entries, quotaAnswer(&req.Entries[i], err))
		}
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		resp.Results = scramFailures(body.(*kmsg.AlterUserSCRAMCredentialsRequest), err)
	default:
		failWhole(kresp, code, &message)
	}
	return kresp
}

func scramFailures(req *kmsg.AlterUserSCRAMCredentialsRequest, err error) []kmsg.AlterUserSCRAMCredentialsResponseResult {
	var results []kmsg.AlterUserSCRAMCredentialsResponseResult
	seen := map[string]bool{}
	fail := func(user string) {
		if seen[user] {
			return
		}
		seen[user] = true
		answer := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		answer.User = user
		answer.ErrorCode, answer.ErrorMessage = told(err)
		results = append(results, answer)
	}
	for _, d := range req.Deletions {
		fail(d.Name)
	}
	for _, u := range req.Upsertions {
		fail(u.Name)
	}
	return results
}

// failWhole fills a response that has one code for its request.
func failWhole(kresp kmsg.Response, code kafka.ErrorCode, message *string) {
	c := int16(code)
	switch resp := kresp.(type) {
	case *kmsg.BrokerHeartbeatResponse:
		resp.ErrorCode, resp.IsFenced = c, true
	case *kmsg.BrokerRegistrationResponse:
		resp.ErrorCode, resp.BrokerEpoch = c, int64(kafka.NoBrokerEpoch)
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = c
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = c
	case *kmsg.ElectLeadersResponse:
		resp.ErrorCode = c
	case *kmsg.AssignReplicasToDirsResponse:
		resp.ErrorCode = c
	case *kmsg.CreateDelegationTokenResponse:
		resp.ErrorCode = c
		resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	case *kmsg.RenewDelegationTokenResponse:
		resp.ErrorCode, resp.ExpiryTimestamp = c, -1
	case *kmsg.ExpireDelegationTokenResponse:
		resp.ErrorCode, resp.ExpiryTimestamp = c, -1
	case *kmsg.AlterPartitionAssignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message
	case *kmsg.UpdateFeaturesResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message
	case *kmsg.UnregisterBrokerResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message
	case *kmsg.ControllerRegistrationResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message
	case *kmsg.UnregisterControllerResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message
	}
}

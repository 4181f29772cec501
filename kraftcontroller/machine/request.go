package machine

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

const (
	notController = "The active controller appears to be another node."
	excessive     = "Unable to perform excessively large batch operation."
)

// request decides one request, or refuses it on a standby.
func (m *Machine) request(r Request) error {
	if r.Body == nil {
		return fmt.Errorf("machine: request %d has no body", r.ID)
	}
	if !m.active {
		m.respond(r.ID, failure(r.Body, kafka.NotController, notController))
		return nil
	}
	switch req := r.Body.(type) {
	case *kmsg.BrokerHeartbeatRequest:
		return m.heartbeat(r, req)
	case *kmsg.BrokerRegistrationRequest:
		return m.registerBroker(r, req)
	case *kmsg.AlterPartitionRequest:
		return m.alterPartition(r, req)
	case *kmsg.CreateTopicsRequest:
		return m.createTopics(r, req)
	case *kmsg.DeleteTopicsRequest:
		return m.deleteTopics(r, req)
	case *kmsg.CreatePartitionsRequest:
		return m.createPartitions(r, req)
	case *kmsg.IncrementalAlterConfigsRequest:
		return m.alterConfigs(r, req)
	case *kmsg.AllocateProducerIDsRequest:
		return m.allocateProducerIDs(r, req)
	case *kmsg.ElectLeadersRequest:
		return m.electLeaders(r, req)
	case *kmsg.AlterPartitionAssignmentsRequest:
		return m.alterReassignments(r, req)
	case *kmsg.ListPartitionReassignmentsRequest:
		return m.listReassignments(r, req)
	case *kmsg.UnregisterBrokerRequest:
		return m.unregisterBroker(r, req)
	case *kmsg.ControllerRegistrationRequest:
		return m.registerController(r, req)
	}
	m.respond(r.ID, failure(r.Body, kafka.UnsupportedVersion, "The controller does not serve this request."))
	return nil
}

// Serves reports whether the machine decides requests of an API key.
func Serves(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.BrokerHeartbeat, kmsg.BrokerRegistration, kmsg.AlterPartition, kmsg.CreateTopics, kmsg.DeleteTopics,
		kmsg.CreatePartitions, kmsg.IncrementalAlterConfigs, kmsg.AllocateProducerIDs, kmsg.ElectLeaders,
		kmsg.AlterPartitionAssignments, kmsg.ListPartitionReassignments, kmsg.UnregisterBroker, kmsg.ControllerRegistration:
		return true
	}
	return false
}

// failure answers a request with one error for all that it asks for, as
// Kafka's getErrorResponse does. A response kind that the machine does not
// know comes without an error code: requests of other keys must not be stepped.
func failure(body kmsg.Request, code kafka.ErrorCode, message string) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.CreateTopicsRequest:
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, createTopicError(t.Topic, code, message))
		}
		return resp
	case *kmsg.DeleteTopicsRequest:
		resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
		for _, t := range deleteTargets(req) {
			resp.Topics = append(resp.Topics, t.answer(code, message))
		}
		return resp
	case *kmsg.CreatePartitionsRequest:
		resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, createPartitionsAnswer(t.Topic, code, message))
		}
		return resp
	case *kmsg.IncrementalAlterConfigsRequest:
		resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for _, res := range req.Resources {
			resp.Resources = append(resp.Resources, alterConfigsAnswer(res, code, message))
		}
		return resp
	case *kmsg.UnregisterBrokerRequest:
		resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
		return resp
	case *kmsg.ControllerRegistrationRequest:
		resp := req.ResponseKind().(*kmsg.ControllerRegistrationResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
		return resp
	}
	resp := body.ResponseKind()
	switch resp := resp.(type) {
	case *kmsg.BrokerHeartbeatResponse:
		resp.ErrorCode, resp.IsFenced = int16(code), true
	case *kmsg.BrokerRegistrationResponse:
		resp.ErrorCode, resp.BrokerEpoch = int16(code), int64(kafka.NoBrokerEpoch)
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.ElectLeadersResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.AlterPartitionAssignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
	}
	return resp
}

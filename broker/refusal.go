package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// fallbacks answer what only the controller serves, for a broker that is no
// candidate: clients ask Metadata for the controller and go there.
func (p *zkPlane) fallbacks() []wire.API {
	handle := func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
		return refuse(r.Body, kafka.NotController, "this is not the controller of the cluster"), nil
	}
	var apis []wire.API
	for _, a := range []struct{ key, lowest, highest int16 }{
		{7, 0, 3}, {19, 0, 7}, {20, 0, 6}, {37, 0, 3}, {43, 0, 2}, {45, 0, 0}, {46, 0, 0}, {56, 0, 3}, {57, 0, 1}, {67, 0, 0},
	} {
		apis = append(apis, wire.API{Key: a.key, MinVersion: a.lowest, MaxVersion: a.highest, Handle: handle})
	}
	return apis
}

// refuse answers a request that belongs to the controller with one code for
// all of it. Keys that it does not know give nil.
func refuse(body kmsg.Request, code kafka.ErrorCode, text string) kmsg.Response {
	kresp := body.ResponseKind()
	switch resp := kresp.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range body.(*kmsg.CreateTopicsRequest).Topics {
			rt := kmsg.NewCreateTopicsResponseTopic()
			rt.Topic, rt.ErrorCode, rt.ErrorMessage = t.Topic, int16(code), &text
			rt.NumPartitions, rt.ReplicationFactor = -1, -1
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.DeleteTopicsResponse:
		req := body.(*kmsg.DeleteTopicsRequest)
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, refuseDelete(t.Topic, t.TopicID, code, text))
		}
		for _, name := range req.TopicNames {
			resp.Topics = append(resp.Topics, refuseDelete(&name, [16]byte{}, code, text))
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range body.(*kmsg.CreatePartitionsRequest).Topics {
			rt := kmsg.NewCreatePartitionsResponseTopic()
			rt.Topic, rt.ErrorCode, rt.ErrorMessage = t.Topic, int16(code), &text
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, c := range body.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			res := kmsg.NewIncrementalAlterConfigsResponseResource()
			res.ResourceType, res.ResourceName, res.ErrorCode, res.ErrorMessage = c.ResourceType, c.ResourceName, int16(code), &text
			resp.Resources = append(resp.Resources, res)
		}
	case *kmsg.AlterConfigsResponse:
		for _, c := range body.(*kmsg.AlterConfigsRequest).Resources {
			res := kmsg.NewAlterConfigsResponseResource()
			res.ResourceType, res.ResourceName, res.ErrorCode, res.ErrorMessage = c.ResourceType, c.ResourceName, int16(code), &text
			resp.Resources = append(resp.Resources, res)
		}
	default:
		return refuseWhole(kresp, code, text)
	}
	return kresp
}

func refuseDelete(name *string, id [16]byte, code kafka.ErrorCode, text string) kmsg.DeleteTopicsResponseTopic {
	rt := kmsg.NewDeleteTopicsResponseTopic()
	rt.Topic, rt.TopicID, rt.ErrorCode, rt.ErrorMessage = name, id, int16(code), &text
	return rt
}

// refuseWhole fills a response that has one code for the request.
func refuseWhole(kresp kmsg.Response, code kafka.ErrorCode, text string) kmsg.Response {
	c := int16(code)
	switch resp := kresp.(type) {
	case *kmsg.ElectLeadersResponse:
		resp.ErrorCode = c
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = c
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = c
	case *kmsg.ControlledShutdownResponse:
		resp.ErrorCode = c
	case *kmsg.AlterPartitionAssignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = c, &text
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = c, &text
	case *kmsg.UpdateFeaturesResponse:
		resp.ErrorCode, resp.ErrorMessage = c, &text
	case *kmsg.UnregisterBrokerResponse:
		resp.ErrorCode, resp.ErrorMessage = c, &text
	case *kmsg.DescribeQuorumResponse:
		resp.ErrorCode, resp.ErrorMessage = c, &text
	case *kmsg.AddRaftVoterResponse:
		resp.ErrorCode, resp.ErrorMessage = c, &text
	case *kmsg.RemoveRaftVoterResponse:
		resp.ErrorCode, resp.ErrorMessage = c, &text
	default:
		return nil
	}
	return kresp
}

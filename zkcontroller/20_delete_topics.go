package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleDeleteTopics(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DeleteTopicsRequest)
	in := machine.AdminDeleteTopics{}
	var names []string
	for _, n := range req.TopicNames {
		in.Topics = append(in.Topics, machine.TopicRef{Name: n})
		names = append(names, n)
	}
	for _, t := range req.Topics {
		ref := machine.TopicRef{ID: kafka.UUID(t.TopicID)}
		if t.Topic != nil {
			ref.Name = *t.Topic
		}
		in.Topics = append(in.Topics, ref)
		names = append(names, ref.Name)
	}
	reply := topicsReply(c.call(ctx, millis(req.TimeoutMillis), func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	}), names)
	resp := kmsg.NewPtrDeleteTopicsResponse()
	for i := range reply.Topics {
		res := &reply.Topics[i]
		t := kmsg.NewDeleteTopicsResponseTopic()
		if res.Name != "" || r.Version < 6 {
			t.Topic = kmsg.StringPtr(res.Name)
		}
		t.TopicID = res.ID
		if res.ID.IsZero() {
			t.TopicID = in.Topics[i].ID
		}
		if res.Code == kafka.TopicDeletionDisabled && r.Version < 3 { // clients do not know it
			res.Code = kafka.InvalidRequest
		}
		t.ErrorCode, t.ErrorMessage = int16(res.Code), text(res.Text)
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}

package machine

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// deleteTarget names a topic to delete, by name or by id.
type deleteTarget struct {
	name *string
	id   kafka.UUID
}

// deleteTargets gives what the request names, in any version.
func deleteTargets(req *kmsg.DeleteTopicsRequest) []deleteTarget {
	var targets []deleteTarget
	for i := range req.TopicNames {
		targets = append(targets, deleteTarget{name: &req.TopicNames[i]})
	}
	for _, t := range req.Topics {
		targets = append(targets, deleteTarget{t.Topic, t.TopicID})
	}
	return targets
}

func (t deleteTarget) answer(code kafka.ErrorCode, message string) kmsg.DeleteTopicsResponseTopic {
	a := kmsg.NewDeleteTopicsResponseTopic()
	a.Topic, a.TopicID, a.ErrorCode = t.name, t.id, int16(code)
	if code != kafka.None {
		a.ErrorMessage = &message
	}
	return a
}

// deleteTopics decides DeleteTopics (20), answering in the request's order.
func (m *Machine) deleteTopics(r Request, req *kmsg.DeleteTopicsRequest) error {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	quota := m.mutationQuota(r, strictDeleteTopics)
	var records []metadata.Record
	gone := map[kafka.UUID]bool{}
	for _, target := range deleteTargets(req) {
		t, f := m.deleteTarget(target)
		if f == nil && gone[t.ID()] {
			f = faultf(kafka.InvalidRequest, "Duplicate topic.")
		}
		if f == nil {
			f = quota.take(t.Len())
		}
		if f != nil {
			resp.Topics = append(resp.Topics, target.answer(f.code, f.message))
			continue
		}
		gone[t.ID()] = true
		records = append(records, &metadata.RemoveTopicRecord{TopicID: t.ID()})
		name := t.Name()
		resp.Topics = append(resp.Topics, deleteTarget{&name, t.ID()}.answer(kafka.None, ""))
	}
	resp.ThrottleMillis = quota.throttleMs()
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

func (m *Machine) deleteTarget(target deleteTarget) (*metadata.Topic, *fault) {
	switch {
	case target.name != nil && !target.id.IsZero():
		return nil, faultf(kafka.InvalidRequest, "You may not specify both topic name and topic id.")
	case target.name != nil:
		if t, ok := m.image().Topic(*target.name); ok {
			return t, nil
		}
		return nil, faultf(kafka.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	case target.id.IsZero():
		return nil, faultf(kafka.InvalidRequest, "Neither topic name nor id were specified.")
	}
	if t, ok := m.image().TopicByID(target.id); ok {
		return t, nil
	}
	return nil, faultf(kafka.UnknownTopicID, "This server does not host this topic ID.")
}

package zkcontroller

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

// APIs gives the handlers of what only the active controller serves. Any other
// candidate answers NOT_CONTROLLER.
func (c *Controller) APIs() []wire.API {
	return []wire.API{
		{Key: 7, MinVersion: 0, MaxVersion: 3, Handle: c.handleControlledShutdown},
		{Key: 19, MinVersion: 0, MaxVersion: 7, Handle: c.handleCreateTopics},
		{Key: 20, MinVersion: 0, MaxVersion: 6, Handle: c.handleDeleteTopics},
		{Key: 37, MinVersion: 0, MaxVersion: 3, Handle: c.handleCreatePartitions},
		{Key: 43, MinVersion: 0, MaxVersion: 2, Handle: c.handleElectLeaders},
		{Key: 45, MinVersion: 0, MaxVersion: 0, Handle: c.handleAlterReassignments},
		{Key: 46, MinVersion: 0, MaxVersion: 0, Handle: c.handleListReassignments},
		{Key: 56, MinVersion: 0, MaxVersion: 3, Handle: c.handleAlterPartition},
		{Key: 57, MinVersion: 0, MaxVersion: 1, Handle: c.handleUpdateFeatures},
		{Key: 67, MinVersion: 0, MaxVersion: 0, Handle: c.handleAllocateProducerIDs},
	}
}

// millis gives a request's time-out, within what a call may take.
func millis(ms int32) time.Duration {
	return min(max(time.Duration(ms)*time.Millisecond, 0), maxCallTime)
}

// timedOut answers topics for which no reply came in time.
func timedOut(names []string) machine.TopicsReply {
	r := machine.TopicsReply{Topics: make([]machine.TopicResult, len(names))}
	for i, n := range names {
		r.Topics[i] = machine.TopicResult{Name: n, Code: kafka.RequestTimedOut, Text: "The request timed out."}
	}
	return r
}

// topicsReply makes one result for each name of whatever a call gave.
func topicsReply(body any, names []string) machine.TopicsReply {
	r, ok := body.(machine.TopicsReply)
	if !ok {
		return timedOut(names)
	}
	if r.Code == kafka.None {
		return r
	}
	out := machine.TopicsReply{Topics: make([]machine.TopicResult, len(names))}
	for i, n := range names {
		out.Topics[i] = machine.TopicResult{Name: n, Code: r.Code, Text: "This is not the correct controller for this cluster."}
	}
	return out
}

// text gives an error message, nil for none.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return kmsg.StringPtr(s)
}

func brokerIDs(ids []int32) []kafka.BrokerID {
	out := make([]kafka.BrokerID, len(ids))
	for i, id := range ids {
		out[i] = kafka.BrokerID(id)
	}
	return out
}

func rawIDs(ids []kafka.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

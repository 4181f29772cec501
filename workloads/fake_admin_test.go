package workloads

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// later answers a request when the time of admin changes has passed; what it
// changes is true from then on.
func (c *fakeCluster) later(change func(kmsg.Request) kmsg.Response) func(context.Context, *wire.Request) (kmsg.Response, error) {
	return func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
		if c.serial {
			c.turn.Lock()
			defer c.turn.Unlock()
		}
		if !sleepUntil(ctx, trace.Now()+int64(c.admin)) {
			return nil, ctx.Err()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return change(r.Body), nil
	}
}

func (c *fakeCluster) deleteTopics(req kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	for _, name := range req.(*kmsg.DeleteTopicsRequest).TopicNames {
		rt := kmsg.NewDeleteTopicsResponseTopic()
		rt.Topic = kmsg.StringPtr(name)
		if t := c.topics[name]; t == nil || t.goneNs != 0 {
			rt.ErrorCode = int16(kafka.UnknownTopicOrPartition)
		} else {
			t.goneNs = trace.Now()
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (c *fakeCluster) createPartitions(req kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	for _, t := range req.(*kmsg.CreatePartitionsRequest).Topics {
		rt := kmsg.NewCreatePartitionsResponseTopic()
		rt.Topic = t.Topic
		known := c.topics[t.Topic]
		if int(t.Count) != len(known.partitions)+len(t.Assignment) {
			rt.ErrorCode = int16(kafka.InvalidPartitions)
		} else {
			for _, a := range t.Assignment {
				known.partitions = append(known.partitions, newFakePartition(a.Replicas, trace.Now()))
			}
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (c *fakeCluster) alterConfigs(req kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	for _, r := range req.(*kmsg.IncrementalAlterConfigsRequest).Resources {
		res := kmsg.NewIncrementalAlterConfigsResponseResource()
		res.ResourceType, res.ResourceName = r.ResourceType, r.ResourceName
		n, err := strconv.Atoi(*r.Configs[0].Value)
		if err != nil || r.Configs[0].Name != minISR || r.Configs[1].Name != maxBytes {
			res.ErrorCode = int16(kafka.InvalidConfig)
		}
		t := c.topics[r.ResourceName]
		t.minISR = append(t.minISR, since[int]{trace.Now(), n})
		resp.Resources = append(resp.Resources, res)
	}
	return resp
}

func (c *fakeCluster) reassign(req kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	for _, t := range req.(*kmsg.AlterPartitionAssignmentsRequest).Topics {
		for _, p := range t.Partitions {
			part := &c.topics[t.Topic].partitions[p.Partition]
			part.replicas = append(part.replicas, since[[]int32]{trace.Now(), p.Replicas})
		}
	}
	return resp
}

// behind has broker 3 serve everything so much later than the others.
func (c *fakeCluster) behind(d time.Duration) { c.delay[3] = d }

package outage

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/zkcontroller/zk"
)

// flow is something that a cluster does while ZooKeeper is taken away.
type flow struct {
	name string
	// prepare makes what the flow begins with; nil for nothing.
	prepare func(c *cluster)
	// try does it once and says what kept it from being acknowledged.
	try func(ctx context.Context, c *cluster) error
	// holds says what is missing of what was acknowledged; nil asks nothing
	// beyond what holds of every cluster. It may be asked again.
	holds func(c *cluster) string
	// restore brings back nodes that the flow took away.
	restore func(c *cluster)
}

// leaver is the broker that fails and leaves; it is no bystander.
const leaver kafka.BrokerID = brokers

// bystander is a node that is neither the controller's nor the leaver's.
func (c *cluster) bystander() *node {
	for _, n := range c.live() {
		if n != c.active() && n.ID() != leaver {
			return n
		}
	}
	return nil
}

func coded(code int16, fine ...kafka.ErrorCode) error {
	if code == 0 || slices.Contains(fine, kafka.ErrorCode(code)) {
		return nil
	}
	return kafka.ErrorCode(code)
}

func (c *cluster) createTopic(ctx context.Context, name string, partitions int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 3000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 3
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.CreateTopicsResponse](ctx, c.active(), 7, req)
	if err != nil {
		return err
	}
	return coded(resp.Topics[0].ErrorCode, kafka.TopicAlreadyExists) // by an attempt without an answer
}

func (c *cluster) deleteTopic(ctx context.Context, name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 3000, []string{name}
	resp, err := ask[*kmsg.DeleteTopicsResponse](ctx, c.active(), 5, req)
	if err != nil {
		return err
	}
	return coded(resp.Topics[0].ErrorCode, kafka.UnknownTopicOrPartition)
}

// topic makes a topic in quiet.
func topic(name string, partitions int32) func(*cluster) {
	return func(c *cluster) {
		c.t.Helper()
		c.eventually(patience, "topic "+name+" is there", func() string {
			if err := c.createTopic(c.t.Context(), name, partitions); err != nil {
				return err.Error()
			}
			return ""
		})
		c.eventually(patience, "all agree", c.settled)
	}
}

var flows = []flow{
	{
		name: "create",
		try:  func(ctx context.Context, c *cluster) error { return c.createTopic(ctx, "created", 8) },
		holds: func(c *cluster) string {
			if a, err := c.assignment("created"); err != nil || len(a.Partitions) != 8 {
				return fmt.Sprintf("created has %d partitions: %v", len(a.Partitions), err)
			}
			return ""
		},
	},
	{
		name: "delete", prepare: topic("deleted", 8),
		try: func(ctx context.Context, c *cluster) error { return c.deleteTopic(ctx, "deleted") },
		holds: func(c *cluster) string {
			if c.ask(zk.Exists(zk.TopicPath("deleted"))).Exists {
				return "the deleted topic is there"
			}
			return ""
		},
	},
	{
		name: "reassign", prepare: topic("moved", 1),
		try: func(ctx context.Context, c *cluster) error {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			req.TimeoutMillis = 3000
			part := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
			part.Replicas = moved
			req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "moved", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{part}}}
			resp, err := ask[*kmsg.AlterPartitionAssignmentsResponse](ctx, c.active(), 0, req)
			if err != nil || resp.ErrorCode != 0 {
				return errorsOf(err, resp)
			}
			return coded(resp.Topics[0].Partitions[0].ErrorCode)
		},
		holds: func(c *cluster) string {
			a, err := c.assignment("moved")
			if p := a.Partitions[0]; err != nil || !slices.Equal(p.Replicas, []kafka.BrokerID{4, 2, 1}) {
				return fmt.Sprintf("moved-0 has %+v: %v", p, err)
			}
			return ""
		},
	},
	{
		name: "preferred election", prepare: topic("preferred", 8),
		try: func(ctx context.Context, c *cluster) error {
			req := kmsg.NewPtrElectLeadersRequest()
			req.TimeoutMillis = 3000
			resp, err := ask[*kmsg.ElectLeadersResponse](ctx, c.active(), 2, req)
			if err != nil {
				return err
			}
			return coded(resp.ErrorCode)
		},
	},
	{
		name: "ISR change", prepare: func(c *cluster) {
			topic("synced", 8)(c)
			c.halt(leaver)
			c.eventually(patience, "the ISRs are without the broker that is gone", c.settled)
		},
		try: func(ctx context.Context, c *cluster) error {
			if c.nodes[leaver] == nil {
				c.boot(leaver)
			}
			return nil
		},
		holds: func(c *cluster) string {
			if len(c.nodes) != brokers {
				return "a broker is missing"
			}
			return ""
		},
	},
	{
		name: "config change", prepare: topic("configured", 1),
		try: func(ctx context.Context, c *cluster) error {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			res := kmsg.NewIncrementalAlterConfigsRequestResource()
			res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, "configured"
			res.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: kmsg.StringPtr("4711")}}
			req.Resources = append(req.Resources, res)
			resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](ctx, c.bystander(), 1, req)
			if err != nil {
				return err
			}
			return coded(resp.Resources[0].ErrorCode)
		},
		holds: configured,
	},
	{
		name: "ACL change",
		try: func(ctx context.Context, c *cluster) error {
			req := kmsg.NewPtrCreateACLsRequest()
			x := kmsg.NewCreateACLsRequestCreation()
			x.ResourceType, x.ResourceName, x.ResourcePatternType = kmsg.ACLResourceType(access.Topic), "guarded", kmsg.ACLResourcePatternType(access.Literal)
			x.Principal, x.Host, x.Operation, x.PermissionType = "User:ann", "*", kmsg.ACLOperation(access.Read), kmsg.ACLPermissionType(access.Allow)
			req.Creations = append(req.Creations, x)
			resp, err := ask[*kmsg.CreateACLsResponse](ctx, c.bystander(), 3, req)
			if err != nil {
				return err
			}
			return coded(resp.Results[0].ErrorCode)
		},
		holds: guarded,
	},
	{
		name: "broker failure",
		try:  func(ctx context.Context, c *cluster) error { c.halt(leaver); return nil },
		holds: func(c *cluster) string {
			if c.ask(zk.Exists(zk.BrokerPath(leaver))).Exists {
				return "the dead broker is registered"
			}
			return ""
		},
		restore: func(c *cluster) { c.boot(leaver) },
	},
	{
		name: "controlled shutdown",
		try: func(ctx context.Context, c *cluster) error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if n := c.nodes[leaver]; n != nil {
				_ = n.Shutdown(ctx) // it may be refused while there is no controller, and stops all the same
			}
			c.halt(leaver)
			return nil
		},
		restore: func(c *cluster) { c.boot(leaver) },
	},
	{
		name: "controller failover",
		try: func(ctx context.Context, c *cluster) error {
			if n := c.active(); n != nil && len(c.nodes) == brokers {
				c.halt(n.ID())
			}
			return nil
		},
		restore: func(c *cluster) {
			for id := kafka.BrokerID(1); id <= brokers; id++ {
				if c.nodes[id] == nil {
					c.boot(id)
				}
			}
		},
	},
}

// moved is where the reassignment puts its partition.
var moved = []int32{4, 2, 1}

func errorsOf(err error, resp *kmsg.AlterPartitionAssignmentsResponse) error {
	if err != nil {
		return err
	}
	return kafka.ErrorCode(resp.ErrorCode)
}

func configured(c *cluster) string {
	for _, n := range c.live() {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "configured"}}
		resp, err := ask[*kmsg.DescribeConfigsResponse](context.Background(), n, 4, req)
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(resp.Resources[0].Configs, func(x kmsg.DescribeConfigsResponseResourceConfig) bool {
			return x.Name == "retention.ms" && x.Value != nil && *x.Value == "4711"
		}) {
			return fmt.Sprintf("broker %d is without the configuration: %+v", n.ID(), resp.Resources[0])
		}
	}
	return ""
}

func guarded(c *cluster) string {
	for _, n := range c.live() {
		req := kmsg.NewPtrDescribeACLsRequest()
		name := "guarded"
		req.ResourceType, req.ResourceName, req.ResourcePatternType = kmsg.ACLResourceType(access.Topic), &name, kmsg.ACLResourcePatternType(access.Literal)
		req.Operation, req.PermissionType = 1, 1 // any
		resp, err := ask[*kmsg.DescribeACLsResponse](context.Background(), n, 3, req)
		if err != nil {
			return err.Error()
		}
		if len(resp.Resources) != 1 || len(resp.Resources[0].ACLs) != 1 {
			return fmt.Sprintf("broker %d has ACLs %+v, code %v", n.ID(), resp.Resources, kafka.ErrorCode(resp.ErrorCode))
		}
	}
	return ""
}

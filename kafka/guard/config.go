package guard

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
)

// mayConfig judges a configuration resource: topics and groups by their name,
// everything else by the cluster. code is what refuses it.
func (c client) mayConfig(op access.Operation, kind kmsg.ConfigResourceType, name string) (code int16, ok bool) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		return refusedTopic, c.may(op, access.Topic, name)
	case kmsg.ConfigResourceTypeGroupConfig:
		return int16(kafka.GroupAuthorizationFailed), c.may(op, access.Group, name)
	}
	return refusedCluster, c.mayCluster(op)
}

// describeConfigs needs DESCRIBE_CONFIGS on each resource.
func describeConfigs(c client, req *kmsg.DescribeConfigsRequest, next call) (kmsg.Response, error) {
	return partly(req, &req.Resources, func(r *kmsg.DescribeConfigsRequestResource) bool {
		_, ok := c.mayConfig(access.DescribeConfigs, r.ResourceType, r.ResourceName)
		return ok
	}, next, func(resp *kmsg.DescribeConfigsResponse, r kmsg.DescribeConfigsRequestResource) {
		item := kmsg.NewDescribeConfigsResponseResource()
		item.ResourceType, item.ResourceName = r.ResourceType, r.ResourceName
		item.ErrorCode, _ = c.mayConfig(access.DescribeConfigs, r.ResourceType, r.ResourceName)
		resp.Resources = append(resp.Resources, item)
	})
}

// alterConfigs needs ALTER_CONFIGS on each resource.
func alterConfigs(c client, req *kmsg.AlterConfigsRequest, next call) (kmsg.Response, error) {
	return partly(req, &req.Resources, func(r *kmsg.AlterConfigsRequestResource) bool {
		_, ok := c.mayConfig(access.AlterConfigs, r.ResourceType, r.ResourceName)
		return ok
	}, next, func(resp *kmsg.AlterConfigsResponse, r kmsg.AlterConfigsRequestResource) {
		item := kmsg.NewAlterConfigsResponseResource()
		item.ResourceType, item.ResourceName = r.ResourceType, r.ResourceName
		item.ErrorCode, _ = c.mayConfig(access.AlterConfigs, r.ResourceType, r.ResourceName)
		resp.Resources = append(resp.Resources, item)
	})
}

// incrementalAlterConfigs needs ALTER_CONFIGS on each resource.
func incrementalAlterConfigs(c client, req *kmsg.IncrementalAlterConfigsRequest, next call) (kmsg.Response, error) {
	return partly(req, &req.Resources, func(r *kmsg.IncrementalAlterConfigsRequestResource) bool {
		_, ok := c.mayConfig(access.AlterConfigs, r.ResourceType, r.ResourceName)
		return ok
	}, next, func(resp *kmsg.IncrementalAlterConfigsResponse, r kmsg.IncrementalAlterConfigsRequestResource) {
		item := kmsg.NewIncrementalAlterConfigsResponseResource()
		item.ResourceType, item.ResourceName = r.ResourceType, r.ResourceName
		item.ErrorCode, _ = c.mayConfig(access.AlterConfigs, r.ResourceType, r.ResourceName)
		resp.Resources = append(resp.Resources, item)
	})
}

package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// topicConfigSource is DYNAMIC_TOPIC_CONFIG of a config's source.
const topicConfigSource = 1

// newTopicConfigs gives the config records of a new topic.
func (m *Machine) newTopicConfigs(t *kmsg.CreateTopicsRequestTopic) ([]*metadata.ConfigRecord, *fault) {
	var records []*metadata.ConfigRecord
	seen := map[string]bool{}
	for _, c := range t.Configs {
		switch {
		case seen[c.Name]:
			return nil, faultf(kafka.InvalidRequest, "The config %s is given more than once.", c.Name)
		case c.Value == nil:
			return nil, faultf(kafka.InvalidConfig, "Null value not supported for topic configs: %s", c.Name)
		}
		seen[c.Name] = true
		if err := metadata.ValidateTopicConfig(c.Name, *c.Value); err != nil {
			return nil, &fault{kafka.InvalidConfig, err.Error()}
		}
		records = append(records, &metadata.ConfigRecord{ResourceType: metadata.TopicConfig, ResourceName: t.Topic, Name: c.Name, Value: c.Value})
	}
	return records, nil
}

// alterConfigs decides IncrementalAlterConfigs (44). Each resource is altered
// whole or refused; what is as wanted already makes no record.
func (m *Machine) alterConfigs(r Request, req *kmsg.IncrementalAlterConfigsRequest) error {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	var records []metadata.Record
	seen := map[metadata.ConfigResource]bool{}
	for _, res := range req.Resources {
		key := resourceOf(res)
		var altered []metadata.Record
		var f *fault
		if seen[key] {
			f = faultf(kafka.InvalidRequest, "Each resource must appear at most once.")
		} else {
			altered, f = m.alterResource(key, res.Configs)
		}
		seen[key] = true
		if f != nil {
			resp.Resources = append(resp.Resources, alterConfigsAnswer(res, f.code, f.message))
			continue
		}
		records = append(records, altered...)
		resp.Resources = append(resp.Resources, alterConfigsAnswer(res, kafka.None, ""))
	}
	if req.ValidateOnly {
		records = nil
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

func resourceOf(res kmsg.IncrementalAlterConfigsRequestResource) metadata.ConfigResource {
	return metadata.ConfigResource{Type: metadata.ConfigType(res.ResourceType), Name: res.ResourceName}
}

func alterConfigsAnswer(res kmsg.IncrementalAlterConfigsRequestResource, code kafka.ErrorCode, message string) kmsg.IncrementalAlterConfigsResponseResource {
	a := kmsg.NewIncrementalAlterConfigsResponseResource()
	a.ResourceType, a.ResourceName, a.ErrorCode = res.ResourceType, res.ResourceName, int16(code)
	if code != kafka.None {
		a.ErrorMessage = &message
	}
	return a
}

func (m *Machine) alterResource(res metadata.ConfigResource, configs []kmsg.IncrementalAlterConfigsRequestResourceConfig) ([]metadata.Record, *fault) {
	if f := m.judgeResource(res); f != nil {
		return nil, f
	}
	current := m.image().Config(res)
	seen := map[string]bool{}
	var records []metadata.Record
	for _, c := range configs {
		if seen[c.Name] {
			return nil, faultf(kafka.InvalidRequest, "Error due to duplicate config keys: %s", c.Name)
		}
		seen[c.Name] = true
		old, set := current[c.Name]
		value, f := alteredValue(res, c, old)
		if f != nil {
			return nil, f
		}
		if value == nil && !set || value != nil && set && *value == old {
			continue
		}
		if value != nil && res.Type == metadata.TopicConfig {
			if err := metadata.ValidateTopicConfig(c.Name, *value); err != nil {
				return nil, &fault{kafka.InvalidConfig, err.Error()}
			}
		}
		records = append(records, &metadata.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: c.Name, Value: value})
	}
	return records, nil
}

// alteredValue gives the value that an operation comes to, nil for none.
func alteredValue(res metadata.ConfigResource, c kmsg.IncrementalAlterConfigsRequestResourceConfig, old string) (*string, *fault) {
	if c.Op == kmsg.IncrementalAlterConfigOpDelete {
		return nil, nil
	}
	if c.Value == nil {
		return nil, faultf(kafka.InvalidRequest, "Null value not supported for : %s", c.Name)
	}
	switch c.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		return c.Value, nil
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
	default:
		return nil, faultf(kafka.InvalidRequest, "Unknown operation type %d", c.Op)
	}
	if res.Type == metadata.TopicConfig && !metadata.IsListTopicConfig(c.Name) {
		return nil, faultf(kafka.InvalidConfig, "Can't %s to key %s because its type is not LIST.", c.Op, c.Name)
	}
	var list []string
	if old != "" {
		list = strings.Split(old, ",")
	}
	for _, item := range strings.Split(*c.Value, ",") {
		switch i := slices.Index(list, item); {
		case c.Op == kmsg.IncrementalAlterConfigOpAppend && i < 0:
			list = append(list, item)
		case c.Op == kmsg.IncrementalAlterConfigOpSubtract && i >= 0:
			list = slices.Delete(list, i, i+1)
		}
	}
	value := strings.Join(list, ",")
	return &value, nil
}

// judgeResource checks that a resource is there.
func (m *Machine) judgeResource(res metadata.ConfigResource) *fault {
	switch res.Type {
	case metadata.TopicConfig:
		if _, ok := m.image().Topic(res.Name); !ok {
			return faultf(kafka.UnknownTopicOrPartition, "The topic '%.249s' does not exist.", res.Name)
		}
	case metadata.BrokerConfig:
		if res.Name == "" {
			return nil
		}
		id, err := strconv.ParseInt(res.Name, 10, 32)
		if err != nil || id < 0 {
			return faultf(kafka.InvalidRequest, "Invalid broker name %.32q", res.Name)
		}
		if _, ok := m.image().Broker(kafka.BrokerID(id)); !ok {
			return faultf(kafka.BrokerIDNotRegistered, "No broker with id %d found.", id)
		}
	case metadata.ClientMetricsConfig, metadata.GroupConfig:
	default:
		return faultf(kafka.InvalidRequest, "Unexpected resource type %d.", res.Type)
	}
	return nil
}

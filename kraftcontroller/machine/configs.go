package machine

import (
	"maps"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// newTopicConfigs gives the config records of a new topic.
func (m *Machine) newTopicConfigs(t *kmsg.CreateTopicsRequestTopic) ([]*metadata.ConfigRecord, *fault) {
	if len(t.Configs) == 0 {
		return nil, nil
	}
	var records []*metadata.ConfigRecord
	values := map[string]string{}
	for _, c := range t.Configs {
		if c.Value == nil {
			return nil, faultf(kafka.InvalidConfig, "Null value not supported for topic configs: %s", c.Name)
		}
		if _, seen := values[c.Name]; seen {
			return nil, faultf(kafka.InvalidRequest, "The config %s is given more than once.", c.Name)
		}
		values[c.Name] = *c.Value
		records = append(records, &metadata.ConfigRecord{ResourceType: metadata.TopicConfig, ResourceName: t.Topic, Name: c.Name, Value: c.Value})
	}
	if err := admin.TopicConfigs.Validate(values); err != nil {
		return nil, &fault{admin.CodeOf(err), err.Error()}
	}
	return records, nil
}

// effectiveConfigs gives a function that tells what holds for a new topic, where
// the version of the response has room for it (KIP-525).
func (m *Machine) effectiveConfigs(version int16) func(*kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopicConfig {
	node := m.image().Config(metadata.ConfigResource{Type: metadata.BrokerConfig, Name: strconv.Itoa(int(m.cfg.NodeID))})
	brokers := m.image().Config(metadata.ConfigResource{Type: metadata.BrokerConfig})
	var ofMost []kmsg.CreateTopicsResponseTopicConfig // topics that set nothing
	return func(t *kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopicConfig {
		if version < 5 {
			return nil
		}
		if len(t.Configs) > 0 {
			own := map[string]string{}
			for _, c := range t.Configs {
				own[c.Name] = *c.Value // newTopicConfigs has seen to it
			}
			return admin.EffectiveTopicConfigs(own, node, brokers)
		}
		if ofMost == nil {
			ofMost = admin.EffectiveTopicConfigs(nil, node, brokers)
		}
		return ofMost
	}
}

// maxConfigBytes bounds a value, as a string of the protocol.
const maxConfigBytes = 32767

const cordonedConfig = "cordoned.log.dirs"

// brokerLogger is the type of resource whose configurations are levels of loggers
// (KIP-412), which are no metadata.
const brokerLogger = metadata.ConfigType(kmsg.ConfigResourceTypeBrokerLogger)

// configRecord gives the record that gives one configuration a value, nil to
// remove it; the record is nil where that is so already. Those of brokers are
// written again: a broker takes them for a sign to read anew what they point to,
// as a key store (KAFKA-14136).
func (m *Machine) configRecord(res metadata.ConfigResource, name string, value *string) (metadata.Record, error) {
	old, set := m.image().Config(res)[name]
	if same := value == nil && !set || value != nil && set && *value == old; same && res.Type != metadata.BrokerConfig {
		return nil, nil
	}
	if value != nil {
		if err := m.judgeConfig(res, name, *value); err != nil {
			return nil, err
		}
	}
	if res.Type == metadata.BrokerConfig && name == minISRConfig && m.elrEnabled() {
		// Brokers must agree on it: what is eligible depends on it (KIP-966).
		switch {
		case res.Name != "":
			return nil, admin.Faultf(kafka.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
		case value == nil:
			return nil, admin.Faultf(kafka.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
		}
	}
	return &metadata.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: name, Value: value}, nil
}

func (m *Machine) judgeConfig(res metadata.ConfigResource, name, value string) error {
	if len(value) > maxConfigBytes {
		return admin.Faultf(kafka.InvalidConfig, "The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", maxConfigBytes)
	}
	if res.Type == metadata.BrokerConfig && name == cordonedConfig && !m.version().HasCordonedDirectories() {
		return admin.Faultf(kafka.InvalidConfig, "The %s configuration value cannot be set because it requires metadata.version >= %s", cordonedConfig, metadata.V4_3_IV0)
	}
	return nil
}

// configDefs are what is defined of the configurations of types of resources. The
// controller knows nothing of those of brokers: their own broker does.
var configDefs = map[metadata.ConfigType]*admin.ConfigDef{
	metadata.TopicConfig: admin.TopicConfigs, metadata.ClientMetricsConfig: admin.ClientMetricsConfigs, metadata.GroupConfig: admin.GroupConfigs,
}

// judgeWhole checks all that a resource would have with records.
func (m *Machine) judgeWhole(res metadata.ConfigResource, records []metadata.Record) error {
	def := configDefs[res.Type]
	if def == nil {
		return nil
	}
	values := map[string]string{}
	maps.Copy(values, m.image().Config(res))
	for _, r := range records {
		if c := r.(*metadata.ConfigRecord); c.Value == nil {
			delete(values, c.Name)
		} else {
			values[c.Name] = *c.Value
		}
	}
	return def.Validate(values)
}

// clearingELR adds to records of configurations those that follow from them: a
// topic whose min.insync.replicas changes begins without eligible leader
// replicas, and all topics do where the cluster's changes.
func (m *Machine) clearingELR(records []metadata.Record) []metadata.Record {
	if !m.elrEnabled() {
		return records
	}
	for _, r := range records {
		c, ok := r.(*metadata.ConfigRecord)
		if !ok || c.Name != minISRConfig {
			continue
		}
		clear := &metadata.ClearElrRecord{}
		if c.ResourceType == metadata.TopicConfig {
			clear.TopicName = c.ResourceName
		}
		records = append(records, clear)
	}
	return records
}

// judgeResource checks that a resource is there.
func (m *Machine) judgeResource(res metadata.ConfigResource) error {
	switch res.Type {
	case metadata.TopicConfig:
		if _, ok := m.image().Topic(res.Name); !ok {
			return admin.Faultf(kafka.UnknownTopicOrPartition, "The topic '%.249s' does not exist.", res.Name)
		}
	case metadata.BrokerConfig:
		if res.Name == "" {
			return nil
		}
		id, err := strconv.ParseInt(res.Name, 10, 32)
		if err != nil || id < 0 {
			return admin.Faultf(kafka.InvalidRequest, "Invalid broker name %.32q", res.Name)
		}
		if _, ok := m.image().Broker(kafka.BrokerID(id)); !ok {
			return admin.Faultf(kafka.BrokerIDNotRegistered, "No broker with id %d found.", id)
		}
	case metadata.ClientMetricsConfig:
		if res.Name == "" {
			return admin.Faultf(kafka.InvalidRequest, "Subscription name can't be empty")
		}
	case metadata.GroupConfig:
		if res.Name == "" {
			return admin.Faultf(kafka.InvalidRequest, "Default group resources are not allowed.")
		}
	case brokerLogger:
		return admin.Faultf(kafka.InvalidRequest, "Levels of loggers cannot be changed: a node's log level is set at its start.")
	default:
		return admin.Faultf(kafka.InvalidRequest, "Unexpected resource type %d.", res.Type)
	}
	return nil
}

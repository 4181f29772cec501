package zk

import (
	"net/url"
	"strconv"
	"strings"

	"kbench/kafka"
)

// The fixed paths of Kafka's layout.
const (
	ControllerPath      = "/controller"
	ControllerEpochPath = "/controller_epoch"
	BrokerIDsPath       = "/brokers/ids"
	TopicsPath          = "/brokers/topics"
	BrokerSeqIDPath     = "/brokers/seqid"
	ClusterIDPath       = "/cluster/id"
	ConfigPath          = "/config"
	ConfigChangesPath   = "/config/changes"
	DeleteTopicsPath    = "/admin/delete_topics"
	ReassignPath        = "/admin/reassign_partitions"
	PreferredPath       = "/admin/preferred_replica_election"
	ISRChangesPath      = "/isr_change_notification"
	LogDirEventsPath    = "/log_dir_event_notification"
	ProducerIDBlockPath = "/latest_producer_id_block"
	FeaturePath         = "/feature"

	consumersPath = "/consumers"
)

// The entity types of /config.
const (
	TopicConfigs  = "topics"
	ClientConfigs = "clients"
	UserConfigs   = "users"
	BrokerConfigs = "brokers"
	IPConfigs     = "ips"
)

// DefaultEntity is the entity whose configuration holds where a named one has none.
const DefaultEntity = "<default>"

// persistentPaths are the roots that a broker creates at its start, in
// Kafka's order.
var persistentPaths = []string{
	consumersPath, BrokerIDsPath, TopicsPath, ConfigChangesPath, DeleteTopicsPath,
	BrokerSeqIDPath, ISRChangesPath, ProducerIDBlockPath, LogDirEventsPath,
	ConfigPath + "/" + TopicConfigs, ConfigPath + "/" + ClientConfigs, ConfigPath + "/" + UserConfigs,
	ConfigPath + "/" + BrokerConfigs, ConfigPath + "/" + IPConfigs,
}

// BrokerPath is the ephemeral registration of a broker.
func BrokerPath(id kafka.BrokerID) string { return BrokerIDsPath + "/" + strconv.Itoa(int(id)) }

// TopicPath holds a topic's assignment and id.
func TopicPath(topic string) string { return TopicsPath + "/" + topic }

// PartitionsPath is the parent of a topic's partitions.
func PartitionsPath(topic string) string { return TopicsPath + "/" + topic + "/partitions" }

// PartitionPath is the parent of a partition's state.
func PartitionPath(topic string, p int32) string {
	return TopicsPath + "/" + topic + "/partitions/" + strconv.Itoa(int(p))
}

// StatePath holds a partition's leader, ISR and epochs; its data version is
// the partition epoch.
func StatePath(topic string, p int32) string { return PartitionPath(topic, p) + "/state" }

// DeleteTopicPath asks for the deletion of a topic.
func DeleteTopicPath(topic string) string { return DeleteTopicsPath + "/" + topic }

// EntityConfigPath holds the configuration of an entity. User and client
// names must have gone through Sanitize.
func EntityConfigPath(typ, entity string) string { return ConfigPath + "/" + typ + "/" + entity }

// Sanitize gives the form in which Kafka puts a user or client name in a path:
// URL encoding with * and spaces percent-encoded too.
func Sanitize(name string) string {
	if name == DefaultEntity {
		return name
	}
	return strings.NewReplacer("*", "%2A", "+", "%20", "~", "%7E").Replace(url.QueryEscape(name))
}

// TopicOfPath gives the topic whose znode path is, and whether it is one.
func TopicOfPath(path string) (string, bool) {
	topic, ok := strings.CutPrefix(path, TopicsPath+"/")
	return topic, ok && topic != "" && !strings.Contains(topic, "/")
}

// BrokerOfPath gives the broker whose registration path is, and whether it is one.
func BrokerOfPath(path string) (kafka.BrokerID, bool) {
	s, ok := strings.CutPrefix(path, BrokerIDsPath+"/")
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 32)
	return kafka.BrokerID(id), err == nil && id >= 0
}

// PartitionOfPath gives the partition whose state znode path is, and whether it
// is one.
func PartitionOfPath(path string) (kafka.TopicPartition, bool) {
	rest, ok := strings.CutPrefix(path, TopicsPath+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 4 || parts[1] != "partitions" || parts[3] != "state" {
		return kafka.TopicPartition{}, false
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	return kafka.TopicPartition{Topic: parts[0], Partition: int32(n)}, err == nil && n >= 0
}

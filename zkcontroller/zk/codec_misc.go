package zk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kbench/kafka"
)

// EncodeController gives the data of /controller, version 2.
func EncodeController(id kafka.BrokerID, timestampMs int64) []byte {
	return fmt.Appendf(nil, `{"version":2,"brokerid":%d,"timestamp":"%d","kraftControllerEpoch":-1}`, id, timestampMs)
}

// DecodeController gives the id of the active controller.
func DecodeController(data []byte) (kafka.BrokerID, error) {
	var j struct {
		ID *kafka.BrokerID `json:"brokerid"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return 0, fmt.Errorf("%s %.80q: %w", ControllerPath, data, err)
	}
	if j.ID == nil {
		return 0, fmt.Errorf("%s %.80q lacks brokerid", ControllerPath, data)
	}
	return *j.ID, nil
}

// EncodeControllerEpoch gives the data of /controller_epoch: plain decimal text.
func EncodeControllerEpoch(e kafka.ControllerEpoch) []byte {
	return strconv.AppendInt(nil, int64(e), 10)
}

// DecodeControllerEpoch reads /controller_epoch.
func DecodeControllerEpoch(data []byte) (kafka.ControllerEpoch, error) {
	n, err := strconv.ParseInt(string(data), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s %.80q is not a number", ControllerEpochPath, data)
	}
	return kafka.ControllerEpoch(n), nil
}

// EncodeConfig gives the data of a config znode, keys sorted.
func EncodeConfig(config map[string]string) []byte {
	b := []byte(`{"version":1,"config":{`)
	for i, k := range slices.Sorted(maps.Keys(config)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k), ':')
		b = appendString(b, config[k])
	}
	return append(b, "}}"...)
}

// DecodeConfig reads a config znode; one without data is empty.
func DecodeConfig(data []byte) (map[string]string, error) {
	if len(data) == 0 {
		return map[string]string{}, nil
	}
	var j struct {
		Config map[string]string `json:"config"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("config znode %.80q: %w", data, err)
	}
	if j.Config == nil {
		j.Config = map[string]string{}
	}
	return j.Config, nil
}

// EncodeConfigChange gives the data of a /config/changes node, version 2.
// entityPath is like topics/foo.
func EncodeConfigChange(entityPath string) []byte {
	return append(appendString([]byte(`{"version":2,"entity_path":`), entityPath), '}')
}

// DecodeConfigChange gives the entity path of a /config/changes node of
// version 1 or 2.
func DecodeConfigChange(data []byte) (string, error) {
	var j struct {
		Version int    `json:"version"`
		Path    string `json:"entity_path"`
		Type    string `json:"entity_type"`
		Name    string `json:"entity_name"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return "", fmt.Errorf("config change %.80q: %w", data, err)
	}
	switch {
	case j.Version == 1 && j.Type != "" && j.Name != "":
		return j.Type + "/" + j.Name, nil
	case j.Version == 2 && j.Path != "":
		return j.Path, nil
	}
	return "", fmt.Errorf("config change %.80q names no entity", data)
}

// EncodeClusterID gives the data of /cluster/id.
func EncodeClusterID(id kafka.UUID) []byte {
	return fmt.Appendf(nil, `{"version":"1","id":"%s"}`, id)
}

// DecodeClusterID reads /cluster/id. The id is kept as text: Kafka accepts
// any.
func DecodeClusterID(data []byte) (string, error) {
	var j struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data, &j); err != nil || j.ID == "" {
		return "", fmt.Errorf("%s %.80q holds no id", ClusterIDPath, data)
	}
	return j.ID, nil
}

// ProducerIDBlock is a range of producer ids given to one broker (KIP-730).
type ProducerIDBlock struct {
	Broker     kafka.BrokerID
	First, End int64 // End is the last id of the block, inclusive
}

// ProducerIDBlockSize is how many producer ids a block holds.
const ProducerIDBlockSize = 1000

// EncodeProducerIDBlock gives the data of /latest_producer_id_block.
func EncodeProducerIDBlock(b ProducerIDBlock) []byte {
	return fmt.Appendf(nil, `{"version":1,"broker":%d,"block_start":"%d","block_end":"%d"}`, b.Broker, b.First, b.End)
}

// DecodeProducerIDBlock reads /latest_producer_id_block.
func DecodeProducerIDBlock(data []byte) (ProducerIDBlock, error) {
	var j struct {
		Broker kafka.BrokerID `json:"broker"`
		Start  string         `json:"block_start"`
		End    string         `json:"block_end"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return ProducerIDBlock{}, fmt.Errorf("%s %.80q: %w", ProducerIDBlockPath, data, err)
	}
	first, err1 := strconv.ParseInt(j.Start, 10, 64)
	end, err2 := strconv.ParseInt(j.End, 10, 64)
	if err1 != nil || err2 != nil || end < first {
		return ProducerIDBlock{}, fmt.Errorf("%s %.80q holds no block", ProducerIDBlockPath, data)
	}
	return ProducerIDBlock{j.Broker, first, end}, nil
}

// EncodePartitionSet gives the data of /admin/preferred_replica_election and
// of ISR change notifications: a set of partitions, in the order given.
func EncodePartitionSet(tps []kafka.TopicPartition) []byte {
	b := []byte(`{"version":1,"partitions":[`)
	for i, tp := range tps {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"topic":`...), tp.Topic)
		b = fmt.Appendf(b, `,"partition":%d}`, tp.Partition)
	}
	return append(b, "]}"...)
}

// DecodePartitionSet reads such a set, sorted and without repetitions.
func DecodePartitionSet(data []byte) ([]kafka.TopicPartition, error) {
	var j struct {
		Partitions []struct {
			Topic     string `json:"topic"`
			Partition int32  `json:"partition"`
		} `json:"partitions"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("set of partitions %.80q: %w", data, err)
	}
	var tps []kafka.TopicPartition
	for _, p := range j.Partitions {
		tps = append(tps, kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition})
	}
	slices.SortFunc(tps, kafka.TopicPartition.Compare)
	return slices.Compact(tps), nil
}

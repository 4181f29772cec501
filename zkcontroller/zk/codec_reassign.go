package zk

import (
	"encoding/json"
	"fmt"
	"slices"

	"kbench/kafka"
)

// Reassignment is an entry of /admin/reassign_partitions: a partition and the
// replicas it is to have.
type Reassignment struct {
	Partition kafka.TopicPartition
	Replicas  []kafka.BrokerID
}

// EncodeReassignments gives the data of /admin/reassign_partitions.
func EncodeReassignments(rs []Reassignment) []byte {
	b := []byte(`{"version":1,"partitions":[`)
	for i, r := range rs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"topic":`...), r.Partition.Topic)
		b = fmt.Appendf(b, `,"partition":%d,"replicas":`, r.Partition.Partition)
		b = append(appendIDs(b, r.Replicas), '}')
	}
	return append(b, "]}"...)
}

// DecodeReassignments reads /admin/reassign_partitions, sorted. A partition
// that is there twice is an error.
func DecodeReassignments(data []byte) ([]Reassignment, error) {
	var j struct {
		Partitions []struct {
			Topic     string           `json:"topic"`
			Partition int32            `json:"partition"`
			Replicas  []kafka.BrokerID `json:"replicas"`
		} `json:"partitions"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%s %.80q: %w", ReassignPath, data, err)
	}
	var rs []Reassignment
	for _, p := range j.Partitions {
		rs = append(rs, Reassignment{kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}, p.Replicas})
	}
	slices.SortStableFunc(rs, func(a, b Reassignment) int { return a.Partition.Compare(b.Partition) })
	for i := 1; i < len(rs); i++ {
		if rs[i].Partition == rs[i-1].Partition {
			return nil, fmt.Errorf("%s names %v twice", ReassignPath, rs[i].Partition)
		}
	}
	return rs, nil
}

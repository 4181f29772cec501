package zk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"kbench/kafka"
)

// Assignment says which brokers hold the replicas of a partition, the
// preferred leader first. Adding and Removing are nil outside of a
// reassignment (KIP-455). The slices belong to whoever holds the value and
// are never changed in place.
type Assignment struct {
	Replicas, Adding, Removing []kafka.BrokerID
}

// TopicAssignment is the data of a topic znode.
type TopicAssignment struct {
	ID         kafka.UUID // zero where the topic has none (inter-broker protocol before 2.8)
	Partitions map[int32]Assignment
}

// EncodeTopic gives the bytes of a topic znode, version 3. Kafka writes the
// members of partitions in the order of its hash map, which carries no
// meaning; here they are in numeric order.
func EncodeTopic(t TopicAssignment) []byte {
	nums := make([]int32, 0, len(t.Partitions))
	replicas := 0
	for p, a := range t.Partitions {
		nums = append(nums, p)
		replicas += len(a.Replicas)
	}
	slices.Sort(nums)
	b := make([]byte, 0, 128+len(nums)*10+replicas*4)
	b = append(b, `{"partitions":`...)
	b = appendAssignments(b, nums, t.Partitions, func(a Assignment) []kafka.BrokerID { return a.Replicas }, true)
	if !t.ID.IsZero() {
		b = append(b, `,"topic_id":"`...)
		b = append(b, t.ID.String()...)
		b = append(b, '"')
	}
	b = append(b, `,"adding_replicas":`...)
	b = appendAssignments(b, nums, t.Partitions, func(a Assignment) []kafka.BrokerID { return a.Adding }, false)
	b = append(b, `,"removing_replicas":`...)
	b = appendAssignments(b, nums, t.Partitions, func(a Assignment) []kafka.BrokerID { return a.Removing }, false)
	return append(b, `,"version":3}`...)
}

func appendAssignments(b []byte, nums []int32, m map[int32]Assignment, pick func(Assignment) []kafka.BrokerID, all bool) []byte {
	b = append(b, '{')
	first := true
	for _, p := range nums {
		ids := pick(m[p])
		if len(ids) == 0 && !all {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(p), 10)
		b = append(b, `":`...)
		b = appendIDs(b, ids)
	}
	return append(b, '}')
}

// DecodeTopic reads a topic znode of version 1, 2 or 3.
func DecodeTopic(data []byte) (TopicAssignment, error) {
	var j struct {
		ID         string                     `json:"topic_id"`
		Partitions map[int32][]kafka.BrokerID `json:"partitions"`
		Adding     map[int32][]kafka.BrokerID `json:"adding_replicas"`
		Removing   map[int32][]kafka.BrokerID `json:"removing_replicas"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return TopicAssignment{}, fmt.Errorf("topic znode %.80q: %w", data, err)
	}
	t := TopicAssignment{Partitions: make(map[int32]Assignment, len(j.Partitions))}
	if j.ID != "" {
		id, err := kafka.ParseUUID(j.ID)
		if err != nil {
			return t, fmt.Errorf("topic znode: topic_id: %w", err)
		}
		t.ID = id
	}
	for p, replicas := range j.Partitions {
		// Partitions count from 0, and each takes more than a byte: whoever holds
		// them by number allocates no more than was sent.
		if p < 0 || int(p) >= len(data) {
			return t, fmt.Errorf("topic znode: partition %d of %d: partitions are numbered from 0", p, len(j.Partitions))
		}
		t.Partitions[p] = Assignment{Replicas: replicas, Adding: j.Adding[p], Removing: j.Removing[p]}
	}
	return t, nil
}

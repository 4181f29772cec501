package checker

import (
	"fmt"

	"kbench/internal/trace"
	"kbench/kafka"
)

// AckedISR is what a leader was told of its partition in answer to AlterPartition:
// the state that the partition has at a partition epoch.
type AckedISR struct {
	Partition      kafka.TopicPartition
	TopicID        kafka.UUID // zero where topics have none
	Leader         kafka.BrokerID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []kafka.BrokerID
}

// AckedISRFromTrace reads a trace.BrokerISRAcknowledged.
func AckedISRFromTrace(e trace.Event) (a AckedISR, err error) {
	a = AckedISR{
		Partition: kafka.TopicPartition{Topic: e.Topic, Partition: e.Partition}, Leader: kafka.BrokerID(e.Broker),
		LeaderEpoch: kafka.LeaderEpoch(e.Epoch), PartitionEpoch: kafka.PartitionEpoch(e.N),
	}
	a.ISR, err = trace.ParseIDs[kafka.BrokerID](e.ISR)
	if e.TopicID != "" && err == nil {
		a.TopicID, err = kafka.ParseUUID(e.TopicID)
	}
	if err != nil {
		return a, fmt.Errorf("an acknowledged ISR of %s, partition %d: %w", e.Topic, e.Partition, err)
	}
	return a, nil
}

// Differs says how the state that a partition had at the partition epoch is another
// one than the leader was told, "" where it is not.
func (a AckedISR) Differs(leader kafka.BrokerID, epoch kafka.LeaderEpoch, isr []kafka.BrokerID) string {
	if a.Leader == leader && a.LeaderEpoch == epoch && sameMembers(a.ISR, isr) {
		return ""
	}
	return fmt.Sprintf("the leader of %v was told leader %d, leader epoch %d and ISR %v of partition epoch %d, which has leader %d, leader epoch %d and ISR %v",
		a.Partition, a.Leader, a.LeaderEpoch, a.ISR, a.PartitionEpoch, leader, epoch, isr)
}

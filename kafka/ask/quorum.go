package ask

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// DescribeQuorum asks for the metadata quorum (KIP-595): its leader, voters and
// observers.
func DescribeQuorum() *kmsg.DescribeQuorumRequest {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = kafka.MetadataTopic
	topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = []kmsg.DescribeQuorumRequestTopic{topic}
	return req
}

// Quorum is the one partition that an answer to DescribeQuorum is about, or the
// code with which the request was refused.
func Quorum(r *kmsg.DescribeQuorumResponse) (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	if err := kafka.ErrorCode(r.ErrorCode).Err(); err != nil {
		return nil, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, errors.New("not one partition in the answer")
	}
	p := &r.Topics[0].Partitions[0]
	return p, kafka.ErrorCode(p.ErrorCode).Err()
}

package ask

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// In Metadata no topic and no list of topics are different questions.
func TestMetadataQuestions(t *testing.T) {
	if req := Everything(); req.Topics != nil {
		t.Errorf("all topics: %v", req.Topics)
	}
	if req := Topics(nil); req.Topics == nil || len(req.Topics) != 0 {
		t.Errorf("no topic: %#v", req.Topics)
	}
	var names []string
	for _, topic := range Topics([]string{"a", "b"}).Topics {
		names = append(names, *topic.Topic)
	}
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("asked for %v", names)
	}
}

func TestQuorum(t *testing.T) {
	answer := func(top, of kafka.ErrorCode, partitions int) *kmsg.DescribeQuorumResponse {
		r := kmsg.NewPtrDescribeQuorumResponse()
		r.ErrorCode = int16(top)
		topic := kmsg.NewDescribeQuorumResponseTopic()
		for range partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.ErrorCode, p.LeaderID = int16(of), 7
			topic.Partitions = append(topic.Partitions, p)
		}
		r.Topics = append(r.Topics, topic)
		return r
	}
	if p, err := Quorum(answer(kafka.None, kafka.None, 1)); err != nil || p.LeaderID != 7 {
		t.Errorf("%+v, %v", p, err)
	}
	for name, c := range map[string]struct {
		answer *kmsg.DescribeQuorumResponse
		want   error
	}{
		"refused":         {answer(kafka.ClusterAuthorizationFailed, kafka.None, 0), kafka.ClusterAuthorizationFailed},
		"not the leader":  {answer(kafka.None, kafka.NotLeaderOrFollower, 1), kafka.NotLeaderOrFollower},
		"no partition":    {answer(kafka.None, kafka.None, 0), nil},
		"two partitions":  {answer(kafka.None, kafka.None, 2), nil},
		"no topic at all": {kmsg.NewPtrDescribeQuorumResponse(), nil},
	} {
		if _, err := Quorum(c.answer); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	req := DescribeQuorum()
	if len(req.Topics) != 1 || req.Topics[0].Topic != kafka.MetadataTopic || len(req.Topics[0].Partitions) != 1 {
		t.Errorf("asked for %+v", req.Topics)
	}
}

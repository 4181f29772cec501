package broker

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// Kafka 4's reassignment tool asks where replicas are before it moves them.
func TestDescribeLogDirs(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("a", 2, 2)
	r.create("b", 1, 1)
	p := r.brokers[1]
	describe := func(topics ...kmsg.DescribeLogDirsRequestTopic) string {
		t.Helper()
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Version, req.Topics = 4, topics
		got := ask[*kmsg.DescribeLogDirsResponse](t, p.addr(), req)
		if got.ErrorCode != 0 || len(got.Dirs) != 1 || !filepath.IsAbs(got.Dirs[0].Dir) {
			t.Fatalf("%+v", got)
		}
		var out []string
		for _, topic := range got.Dirs[0].Topics {
			for _, one := range topic.Partitions {
				out = append(out, fmt.Sprintf("%s-%d %d", topic.Topic, one.Partition, one.Size))
			}
		}
		return strings.Join(out, ", ")
	}
	want := "a-0 0, a-1 0"
	if _, here := p.replicas.Info(kafka.TopicPartition{Topic: "b"}); here {
		want += ", b-0 0"
	}
	if got := describe(); got != want {
		t.Errorf("all: %s, want %s", got, want)
	}
	a := kmsg.NewDescribeLogDirsRequestTopic()
	a.Topic, a.Partitions = "a", []int32{1, 9}
	if got := describe(a); got != "a-1 0" {
		t.Errorf("some: %s", got)
	}
}

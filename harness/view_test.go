package harness

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func answer(change func(*kmsg.MetadataResponseTopicPartition)) *kmsg.MetadataResponse {
	m := kmsg.NewPtrMetadataResponse()
	m.ControllerID = 1001
	for range 2 {
		m.Brokers = append(m.Brokers, kmsg.MetadataResponseBroker{NodeID: int32(2 - len(m.Brokers))})
	}
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr("t")
	topic.TopicID = [16]byte{7}
	for i := range 3 {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), 1, 4
		p.Replicas, p.ISR = []int32{1, 2}, []int32{1, 2}
		topic.Partitions = append(topic.Partitions, p)
	}
	if change != nil {
		change(&topic.Partitions[1])
	}
	m.Topics = append(m.Topics, topic)
	return m
}

func TestDigestSeesEveryDifference(t *testing.T) {
	same := summarise(answer(nil))
	if !same.whole() || same.partitions != 3 || same.brokers[0] != 1 {
		t.Fatalf("got %+v", same)
	}
	reordered := answer(func(p *kmsg.MetadataResponseTopicPartition) { p.ISR = []int32{2, 1} })
	reordered.Topics[0].Partitions[0], reordered.Topics[0].Partitions[2] = reordered.Topics[0].Partitions[2], reordered.Topics[0].Partitions[0]
	if summarise(reordered).digest != same.digest {
		t.Error("the order of partitions or of an ISR changes the digest")
	}
	for what, change := range map[string]func(*kmsg.MetadataResponseTopicPartition){
		"leader":       func(p *kmsg.MetadataResponseTopicPartition) { p.Leader = 2 },
		"leader epoch": func(p *kmsg.MetadataResponseTopicPartition) { p.LeaderEpoch++ },
		"replicas":     func(p *kmsg.MetadataResponseTopicPartition) { p.Replicas = []int32{2, 1} },
		"isr":          func(p *kmsg.MetadataResponseTopicPartition) { p.ISR = []int32{1} },
	} {
		if summarise(answer(change)).digest == same.digest {
			t.Errorf("the digest does not see another %s", what)
		}
	}
}

func TestObservedSampleStaysComparable(t *testing.T) {
	grown := func(topics int) map[string]bool {
		m := kmsg.NewPtrMetadataResponse()
		for i := range topics {
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic = kmsg.StringPtr(fmt.Sprintf("t%d", i))
			topic.TopicID = [16]byte{byte(i), byte(i >> 8), 1}
			for p := range 100 {
				part := kmsg.NewMetadataResponseTopicPartition()
				part.Partition = int32(p)
				topic.Partitions = append(topic.Partitions, part)
			}
			m.Topics = append(m.Topics, topic)
		}
		out := map[string]bool{}
		for _, o := range observed(1, 0, m) {
			out[fmt.Sprintf("%s-%d", o.Topic, o.Partition)] = true
		}
		return out
	}
	small, large := grown(100), grown(300)
	if n := len(large); n < observedSample/4 || n > observedSample*4 {
		t.Errorf("%d partitions of 30,000 are followed, want about %d", n, observedSample)
	}
	kept := 0
	for name := range small {
		if large[name] {
			kept++
		}
	}
	if kept == 0 {
		t.Error("nothing of the first sample is in the second")
	}
}

func TestWhole(t *testing.T) {
	leaderless := summarise(answer(func(p *kmsg.MetadataResponseTopicPartition) { p.Leader = -1 }))
	shrunk := summarise(answer(func(p *kmsg.MetadataResponseTopicPartition) { p.ISR = p.ISR[:1] }))
	if leaderless.whole() || shrunk.whole() {
		t.Error("a leaderless or shrunken partition passes for whole")
	}
}

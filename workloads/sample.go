package workloads

import (
	"cmp"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// sampleTopics is over how many topics a sample spreads where topics are
// large: Metadata answers whole topics, and a probe must stay light.
const sampleTopics = 4

// eachPartition calls f for every partition that an answer holds.
func eachPartition(m *kmsg.MetadataResponse, f func(kafka.TopicPartition, *kmsg.MetadataResponseTopicPartition)) {
	for i := range m.Topics {
		t := &m.Topics[i]
		if t.Topic == nil {
			continue
		}
		for j := range t.Partitions {
			f(kafka.TopicPartition{Topic: *t.Topic, Partition: t.Partitions[j].Partition}, &t.Partitions[j])
		}
	}
}

// ledBy lists the partitions led by a broker that can move when it goes, and
// counts those that cannot, since nobody else is in sync.
func ledBy(m *kmsg.MetadataResponse, id kafka.BrokerID) (led []kafka.TopicPartition, stuck int) {
	eachPartition(m, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
		switch {
		case kafka.BrokerID(p.Leader) != id:
		case len(p.ISR) < 2:
			stuck++
		default:
			led = append(led, tp)
		}
	})
	slices.SortFunc(led, kafka.TopicPartition.Compare)
	return led, stuck
}

// samplePartitions draws at most n of the partitions: all where they are
// fewer, else about n/sampleTopics from each of a few topics, both drawn from
// the seed. all is sorted; so is the result.
func samplePartitions(all []kafka.TopicPartition, n int, seed, trial uint64) []kafka.TopicPartition {
	if len(all) <= n {
		return slices.Clone(all)
	}
	rng := rand.New(rand.NewPCG(seed, streamSample+trial<<8))
	byTopic := map[string][]kafka.TopicPartition{}
	var topics []string
	for _, tp := range all {
		if byTopic[tp.Topic] == nil {
			topics = append(topics, tp.Topic)
		}
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp)
	}
	rng.Shuffle(len(topics), func(i, j int) { topics[i], topics[j] = topics[j], topics[i] })
	quota := (n + sampleTopics - 1) / sampleTopics
	var out, rest []kafka.TopicPartition
	for _, name := range topics {
		if len(out) == n {
			break
		}
		of := byTopic[name]
		rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		take := min(quota, len(of), n-len(out))
		out = append(out, of[:take]...)
		rest = append(rest, of[take:]...)
	}
	// Few topics: the quota left room.
	out = append(out, rest[:min(len(rest), n-len(out))]...)
	slices.SortFunc(out, kafka.TopicPartition.Compare)
	return out
}

// topicsOf lists the topics of partitions, sorted.
func topicsOf(tps []kafka.TopicPartition) []string {
	var names []string
	for _, tp := range tps {
		names = append(names, tp.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// notPreferred lists the partitions led by another than their first replica
// although that one is in sync.
func notPreferred(m *kmsg.MetadataResponse) []kafka.TopicPartition {
	var out []kafka.TopicPartition
	eachPartition(m, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
		if len(p.Replicas) > 0 && p.Leader != p.Replicas[0] && slices.Contains(p.ISR, p.Replicas[0]) {
			out = append(out, tp)
		}
	})
	slices.SortFunc(out, kafka.TopicPartition.Compare)
	return out
}

// lowerMedian gives the middle value, of two middle ones the lower, so that it
// is one that was measured.
func lowerMedian[T cmp.Ordered](sorted []T) T { return sorted[(len(sorted)-1)/2] }

// keysOf ranges over the keys of a set.
func keysOf[K comparable](set map[K]struct{}) iter.Seq[K] { return maps.Keys(set) }

// servedBy ranges over the partitions that an answer gives a leader.
func servedBy(m *kmsg.MetadataResponse) iter.Seq[kafka.TopicPartition] {
	return func(yield func(kafka.TopicPartition) bool) {
		more := true
		eachPartition(m, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
			if more && p.Leader >= 0 {
				more = yield(tp)
			}
		})
	}
}

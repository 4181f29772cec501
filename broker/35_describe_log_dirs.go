package broker

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// memoryDir stands for the log directory of a broker that has none.
const memoryDir = "/dev/null"

// handleDescribeLogDirs tells of one log directory with all replicas of this
// broker in it. They hold no payload, so their size is 0.
func (b *Broker) handleDescribeLogDirs(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = memoryDir
	if b.cfg.DataDir != "" {
		var err error
		if dir.Dir, err = filepath.Abs(b.cfg.DataDir); err != nil {
			return nil, err
		}
	}
	if req.Topics == nil {
		for tp, p := range b.Image().Partitions() {
			if slices.Contains(p.Replicas, b.cfg.ID) {
				b.addToDir(&dir, tp.Topic, tp.Partition)
			}
		}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			b.addToDir(&dir, t.Topic, p)
		}
	}
	resp.Dirs = append(resp.Dirs, dir)
	return resp, nil
}

// addToDir adds a replica, if this broker has it. Those of one topic come one
// after the other.
func (b *Broker) addToDir(dir *kmsg.DescribeLogDirsResponseDir, topic string, partition int32) {
	info, ok := b.replicas.Info(kafka.TopicPartition{Topic: topic, Partition: partition})
	if !ok {
		return
	}
	if n := len(dir.Topics); n == 0 || dir.Topics[n-1].Topic != topic {
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic = topic
		dir.Topics = append(dir.Topics, t)
	}
	last := &dir.Topics[len(dir.Topics)-1]
	p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
	p.Partition, p.OffsetLag = partition, max(int64(info.HighWatermark-info.LogEnd), 0)
	last.Partitions = append(last.Partitions, p)
}

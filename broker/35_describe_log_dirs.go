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

// handleDescribeLogDirs tells of the log directories with the replicas of this
// broker in them, or of the error of one that failed. Replicas hold no payload,
// so their size is 0.
func (b *Broker) handleDescribeLogDirs(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	paths, offline, err := b.describedDirs()
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		dir := kmsg.NewDescribeLogDirsResponseDir()
		dir.Dir = path
		if offline[i] {
			dir.ErrorCode = int16(kafka.KafkaStorageError)
		}
		resp.Dirs = append(resp.Dirs, dir)
	}
	if req.Topics == nil {
		for tp, p := range b.Image().Partitions() {
			if slices.Contains(p.Replicas, b.cfg.ID) {
				b.addToDir(resp.Dirs, tp.Topic, tp.Partition)
			}
		}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			b.addToDir(resp.Dirs, t.Topic, p)
		}
	}
	return resp, nil
}

// describedDirs are the log directories; a broker that names none has its data
// directory, to which it writes nothing of its replicas.
func (b *Broker) describedDirs() (paths []string, offline []bool, err error) {
	switch {
	case len(b.cfg.LogDirs) > 0:
		return b.dirs.described()
	case b.cfg.DataDir == "":
		return []string{memoryDir}, []bool{false}, nil
	}
	path, err := filepath.Abs(b.cfg.DataDir)
	return []string{path}, []bool{false}, err
}

// addToDir adds a replica to its directory, if this broker has and serves it.
// Those of one topic come one after the other.
func (b *Broker) addToDir(dirs []kmsg.DescribeLogDirsResponseDir, topic string, partition int32) {
	info, ok := b.replicas.Info(kafka.TopicPartition{Topic: topic, Partition: partition})
	if !ok || info.Offline {
		return
	}
	dir := &dirs[info.Dir-1]
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

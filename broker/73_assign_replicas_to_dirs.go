package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// The bounds of Kafka's AssignmentsManager (KIP-858).
const (
	assignBatch      = 2250 // replicas of one request
	assignBackoff    = 100 * time.Millisecond
	assignBackoffMax = 10 * time.Second
)

// assignments are the replicas of which the controller does not know the
// directory, or knows another. A broker of one directory has none: the controller
// need not be told where they are. One is found as its partition changes, and all
// are with the first image after a start. As in Kafka's ReplicaManager, a
// metadata.version that begins to have directories changes no partition: what the
// broker had before is told of later, and the controller takes it for online
// meanwhile.
type assignments struct {
	mu     sync.Mutex
	queued map[replicaRef]kafka.UUID
	wake   chan struct{} // capacity 1
}

// replicaRef names a replica of this broker.
type replicaRef struct {
	topic     kafka.UUID
	partition int32
}

// put queues a replica that lies in dir.
func (a *assignments) put(r replicaRef, dir kafka.UUID) {
	a.mu.Lock()
	a.queued[r] = dir
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// take removes up to assignBatch replicas whose directory the metadata does not
// have, and forgets those that need not be assigned any more.
func (a *assignments) take(img *metadata.Image, self kafka.BrokerID) map[replicaRef]kafka.UUID {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[replicaRef]kafka.UUID{}
	for r, dir := range a.queued {
		if len(out) == assignBatch {
			break
		}
		delete(a.queued, r)
		if t, ok := img.TopicByID(r.topic); ok {
			if p, ok := t.Partition(r.partition); ok && p.HasReplica(self) && p.Directory(self) != dir {
				out[r] = dir
			}
		}
	}
	return out
}

// assignPlaced queues a replica, where this broker has it and the metadata another
// directory for it.
func (p *kraftPlane) assignPlaced(img *metadata.Image, topic string, id kafka.UUID, partition int32, state *metadata.Partition) {
	self := p.b.cfg.ID
	if !metadata.MetadataVersion(img.FeatureLevel(metadata.MetadataVersionFeature)).HasDirectories() || !state.HasReplica(self) {
		return
	}
	info, ok := p.b.replicas.Info(kafka.TopicPartition{Topic: topic, Partition: partition})
	if !ok {
		return
	}
	if dir := p.b.dirs.idOf(info.Dir); !dir.IsZero() && dir != state.Directory(self) {
		p.assign.put(replicaRef{id, partition}, dir)
	}
}

// runAssign tells the controller where replicas lie, one request in flight, until
// ctx ends.
func (p *kraftPlane) runAssign(ctx context.Context) {
	backoff := assignBackoff
	for ctx.Err() == nil {
		batch := p.assign.take(p.b.Image(), p.b.cfg.ID)
		if len(batch) == 0 {
			select {
			case <-p.assign.wake:
			case <-ctx.Done():
			}
			continue
		}
		again, err := p.sendAssign(ctx, batch)
		if len(again) == 0 {
			backoff = assignBackoff
			continue
		}
		for r, dir := range again {
			p.assign.put(r, dir)
		}
		p.b.log.Debug("AssignReplicasToDirs failed", "replicas", len(again), "reason", err)
		if !pause(ctx, backoff) {
			return
		}
		backoff = min(2*backoff, assignBackoffMax)
	}
}

// sendAssign makes one request and gives what is to be asked again, and why:
// all of it with an error of the request.
func (p *kraftPlane) sendAssign(ctx context.Context, batch map[replicaRef]kafka.UUID) (again map[replicaRef]kafka.UUID, err error) {
	kresp, err := p.assigning.request(ctx, func(v wire.Versions) (kmsg.Request, error) {
		req := assignRequest(batch)
		req.BrokerID, req.BrokerEpoch = int32(p.b.cfg.ID), p.regEpoch.Load()
		var err error
		req.Version, err = v.Pick(int16(kmsg.AssignReplicasToDirs), 0, 0)
		return req, err
	})
	if err != nil {
		return batch, err
	}
	resp := kresp.(*kmsg.AssignReplicasToDirsResponse)
	if err := kafka.ErrorCode(resp.ErrorCode).Err(); err != nil {
		return batch, err
	}
	for _, d := range resp.Directories {
		for _, t := range d.Topics {
			for _, one := range t.Partitions {
				r := replicaRef{t.TopicID, one.Partition}
				code := kafka.ErrorCode(one.ErrorCode)
				if code == kafka.None {
					delete(batch, r)
				} else {
					err = fmt.Errorf("partition %d of topic %s: %w", r.partition, r.topic, code)
				}
			}
		}
	}
	return batch, err
}

func assignRequest(batch map[replicaRef]kafka.UUID) *kmsg.AssignReplicasToDirsRequest {
	byDir := map[kafka.UUID]map[kafka.UUID][]int32{}
	for r, dir := range batch {
		if byDir[dir] == nil {
			byDir[dir] = map[kafka.UUID][]int32{}
		}
		byDir[dir][r.topic] = append(byDir[dir][r.topic], r.partition)
	}
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	for dir, topics := range byDir {
		d := kmsg.NewAssignReplicasToDirsRequestDirectory()
		d.ID = dir
		for topic, partitions := range topics {
			t := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
			t.TopicID = topic
			for _, n := range partitions {
				one := kmsg.NewAssignReplicasToDirsRequestDirectoryTopicPartition()
				one.Partition = n
				t.Partitions = append(t.Partitions, one)
			}
			d.Topics = append(d.Topics, t)
		}
		req.Directories = append(req.Directories, d)
	}
	return req
}

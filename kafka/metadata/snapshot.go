package metadata

import (
	"iter"
	"maps"
	"slices"

	"kbench/kafka"
)

// Records walks the records that make this image from an empty one, in the
// order in which Kafka writes a snapshot: features with metadata.version
// first, brokers, controllers, topics each with its partitions, configurations,
// quotas, producer ids, ACLs, credentials and tokens. They suit the image's own
// metadata.version.
func (i *Image) Records() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		_ = i.featureRecords(yield) && i.registrationRecords(yield) &&
			i.topicRecords(yield) && i.configRecords(yield) && i.access.quotaRecords(yield) &&
			i.producerIDRecords(yield) && i.access.accessRecords(yield)
	}
}

func (i *Image) featureRecords(yield func(Record) bool) bool {
	if level := i.FeatureLevel(MetadataVersionFeature); level != 0 {
		if !yield(&FeatureLevelRecord{Name: MetadataVersionFeature, FeatureLevel: level}) {
			return false
		}
	}
	for name, level := range i.Features() {
		if name != MetadataVersionFeature && !yield(&FeatureLevelRecord{Name: name, FeatureLevel: level}) {
			return false
		}
	}
	return true
}

func (i *Image) registrationRecords(yield func(Record) bool) bool {
	version := MetadataVersion(i.FeatureLevel(MetadataVersionFeature))
	for b := range i.Brokers() {
		r := b.Record()
		if !version.HasCordonedDirectories() {
			r.CordonedLogDirs = nil
		}
		if !yield(r) {
			return false
		}
	}
	for c := range i.Controllers() {
		if !yield(c.Record()) {
			return false
		}
	}
	return true
}

func (i *Image) topicRecords(yield func(Record) bool) bool {
	for t := range i.Topics() {
		if !yield(&TopicRecord{Name: t.name, TopicID: t.id}) {
			return false
		}
		for n, p := range t.All() {
			if !yield(p.Record(t.id, n)) {
				return false
			}
		}
	}
	return true
}

func (i *Image) configRecords(yield func(Record) bool) bool {
	for r, values := range i.Configs() {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			value := values[name]
			if !yield(&ConfigRecord{ResourceType: r.Type, ResourceName: r.Name, Name: name, Value: &value}) {
				return false
			}
		}
	}
	return true
}

func (i *Image) producerIDRecords(yield func(Record) bool) bool {
	return i.nextProducerID == 0 ||
		yield(&ProducerIDsRecord{BrokerID: -1, BrokerEpoch: kafka.NoBrokerEpoch, NextProducerID: i.nextProducerID})
}

// Record gives the record that makes the partition from nothing; it shares
// the partition's slices.
func (p *Partition) Record(topic kafka.UUID, number int32) *PartitionRecord {
	return &PartitionRecord{
		PartitionID: number, TopicID: topic, Replicas: p.Replicas, ISR: p.ISR,
		RemovingReplicas: p.RemovingReplicas, AddingReplicas: p.AddingReplicas, Leader: p.Leader,
		LeaderRecoveryState: p.LeaderRecoveryState, LeaderEpoch: p.LeaderEpoch,
		PartitionEpoch: p.PartitionEpoch, Directories: p.Directories,
		EligibleLeaderReplicas: p.ELR(), LastKnownELR: p.LastKnownELR(),
	}
}

// Record gives the record that makes the registration from nothing.
func (b *Broker) Record() *RegisterBrokerRecord {
	r := &RegisterBrokerRecord{
		BrokerID: b.ID, IncarnationID: b.Incarnation, BrokerEpoch: b.Epoch, Fenced: b.Fenced,
		InControlledShutdown: b.InControlledShutdown, LogDirs: b.LogDirs, CordonedLogDirs: b.CordonedLogDirs,
		EndPoints: recordEndpoints(b.Endpoints, b.SecurityProtocols), Features: recordFeatures(b.Features),
	}
	if b.Rack != "" {
		r.Rack = &b.Rack
	}
	return r
}

// Record gives the record that makes the registration from nothing.
func (c *Controller) Record() *RegisterControllerRecord {
	return &RegisterControllerRecord{
		ControllerID: c.ID, IncarnationID: c.Incarnation,
		EndPoints: recordEndpoints(c.Endpoints, c.SecurityProtocols), Features: recordFeatures(c.Features),
	}
}

func recordEndpoints(es []kafka.Endpoint, protocols []int16) []RecordEndpoint {
	out := make([]RecordEndpoint, len(es))
	for i, e := range es {
		out[i] = RecordEndpoint{Endpoint: e, SecurityProtocol: at(protocols, i)}
	}
	return out
}

func recordFeatures(fs map[string]VersionRange) []RecordFeature {
	out := make([]RecordFeature, 0, len(fs))
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		out = append(out, RecordFeature{Name: name, Min: fs[name].Min, Max: fs[name].Max})
	}
	return out
}

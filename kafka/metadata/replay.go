package metadata

import (
	"fmt"
	"slices"

	"kbench/kafka"
)

// Replay makes the change that a record means. A record that does not fit
// what is there, such as a change to an unknown partition or a broker epoch
// that is another, is an error and changes nothing. The record's slices
// become the image's; the record must not be changed afterwards.
func (d *Delta) Replay(r Record) error {
	switch r := r.(type) {
	case *RegisterBrokerRecord:
		d.PutBroker(brokerOf(r))
	case *UnregisterBrokerRecord:
		if _, err := d.registered("unregister", r.BrokerID, r.BrokerEpoch); err != nil {
			return err
		}
		d.RemoveBroker(r.BrokerID)
	case *BrokerRegistrationChangeRecord:
		return d.replayRegistrationChange(r)
	case *FenceBrokerRecord:
		return d.setFenced("fence", r.ID, r.Epoch, true)
	case *UnfenceBrokerRecord:
		return d.setFenced("unfence", r.ID, r.Epoch, false)
	case *TopicRecord:
		return d.PutTopic(r.Name, r.TopicID)
	case *PartitionRecord:
		return d.replayPartition(r)
	case *PartitionChangeRecord:
		return d.replayPartitionChange(r)
	case *RemoveTopicRecord:
		t, ok := d.next.TopicByID(r.TopicID)
		if !ok {
			return fmt.Errorf("remove topic: id %s is unknown", r.TopicID)
		}
		d.RemoveTopic(t.name)
	case *ConfigRecord:
		d.SetConfig(ConfigResource{r.ResourceType, r.ResourceName}, r.Name, r.Value)
	case *FeatureLevelRecord:
		d.SetFeature(r.Name, r.FeatureLevel)
	case *ProducerIDsRecord:
		if r.NextProducerID <= d.next.nextProducerID {
			return fmt.Errorf("producer ids: the next id %d is not above the last, %d", r.NextProducerID, d.next.nextProducerID)
		}
		d.SetNextProducerID(r.NextProducerID)
	case *RegisterControllerRecord:
		d.PutController(controllerOf(r))
	case *UnregisterControllerRecord:
		d.next.controllers.Delete(r.ControllerID)
	case *ClearElrRecord:
		return d.clearELR(r)
	case *NoOpRecord, *ZkMigrationStateRecord:
	case *BeginTransactionRecord, *EndTransactionRecord, *AbortTransactionRecord:
		// The reader of the log hides what an open transaction holds; here
		// their bounds change nothing.
	default:
		if known, err := d.replayAccess(r); known {
			return err
		}
		return fmt.Errorf("replay of %T is not known", r)
	}
	return nil
}

// registered finds the broker that a record is about.
func (d *Delta) registered(what string, id kafka.BrokerID, epoch kafka.BrokerEpoch) (*Broker, error) {
	b, ok := d.next.Broker(id)
	if !ok {
		return nil, fmt.Errorf("%s broker %d: it is not registered", what, id)
	}
	if b.Epoch != epoch {
		return nil, fmt.Errorf("%s broker %d: the record's epoch %d is not that of its registration, %d", what, id, epoch, b.Epoch)
	}
	return b, nil
}

func (d *Delta) setFenced(what string, id kafka.BrokerID, epoch kafka.BrokerEpoch, fenced bool) error {
	b, err := d.registered(what, id, epoch)
	if err != nil {
		return err
	}
	next := *b
	next.Fenced = fenced
	d.PutBroker(next)
	return nil
}

func (d *Delta) replayRegistrationChange(r *BrokerRegistrationChangeRecord) error {
	b, err := d.registered("change", r.BrokerID, r.BrokerEpoch)
	if err != nil {
		return err
	}
	next := *b
	switch r.Fenced {
	case 1:
		next.Fenced = true
	case -1:
		next.Fenced = false
	case 0:
	default:
		return fmt.Errorf("change broker %d: fenced is %d, not -1, 0 or 1", r.BrokerID, r.Fenced)
	}
	switch r.InControlledShutdown {
	case 1:
		next.InControlledShutdown = true
	case 0:
	default:
		return fmt.Errorf("change broker %d: in controlled shutdown is %d, not 0 or 1", r.BrokerID, r.InControlledShutdown)
	}
	if len(r.LogDirs) > 0 {
		next.LogDirs = sortedDirs(r.LogDirs)
	}
	if r.CordonedLogDirs != nil {
		next.CordonedLogDirs = cordoned(r.CordonedLogDirs)
	}
	d.PutBroker(next)
	return nil
}

// clearELR drops the eligible leader replicas of a topic or of all topics.
// Each partition that had some moves on by a partition epoch, as by a
// PartitionChangeRecord.
func (d *Delta) clearELR(r *ClearElrRecord) error {
	if r.TopicName != "" {
		t, ok := d.next.Topic(r.TopicName)
		if !ok {
			return fmt.Errorf("clear the eligible leader replicas of topic %s: it is unknown", r.TopicName)
		}
		return d.clearELROf(t)
	}
	// Edits replace topics in the tree that is walked.
	var topics []*Topic
	for t := range d.next.Topics() {
		topics = append(topics, t)
	}
	for _, t := range topics {
		if err := d.clearELROf(t); err != nil {
			return err
		}
	}
	return nil
}

func (d *Delta) clearELROf(t *Topic) error {
	var numbers []int32
	for n, p := range t.All() {
		if p.Eligible != nil {
			numbers = append(numbers, n)
		}
	}
	for _, n := range numbers {
		clear := NewPartitionChange(t.id, n)
		clear.EligibleLeaderReplicas, clear.LastKnownELR = []kafka.BrokerID{}, []kafka.BrokerID{}
		if err := d.replayPartitionChange(clear); err != nil {
			return err
		}
	}
	return nil
}

// maxPartitionGap is how far the number of a partition may be ahead of how many
// its topic has, so that a corrupt record cannot make a replay allocate for all
// below it. They are created in order; those of Kafka's snapshots come out of a
// hash map, which holds them close to it.
const maxPartitionGap = 1 << 16

func (d *Delta) replayPartition(r *PartitionRecord) error {
	t, ok := d.editByID(r.TopicID)
	if !ok {
		return fmt.Errorf("partition %d: topic id %s is unknown", r.PartitionID, r.TopicID)
	}
	if n := len(r.Directories); n != 0 && n != len(r.Replicas) {
		return fmt.Errorf("partition %s-%d: %d directories for %d replicas", t.name, r.PartitionID, n, len(r.Replicas))
	}
	if r.PartitionID > int32(t.count)+maxPartitionGap {
		return fmt.Errorf("partition %s-%d: the topic has %d partitions, whose numbers begin at 0", t.name, r.PartitionID, t.count)
	}
	return d.put(t, r.PartitionID, &Partition{
		Replicas: r.Replicas, ISR: r.ISR, AddingReplicas: r.AddingReplicas, RemovingReplicas: r.RemovingReplicas,
		Directories: r.Directories, Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch,
		LeaderRecoveryState: r.LeaderRecoveryState, Eligible: newEligible(r.EligibleLeaderReplicas, r.LastKnownELR),
	})
}

func (d *Delta) replayPartitionChange(r *PartitionChangeRecord) error {
	t, ok := d.editByID(r.TopicID)
	if !ok {
		return fmt.Errorf("change partition %d: topic id %s is unknown", r.PartitionID, r.TopicID)
	}
	p, ok := t.Partition(r.PartitionID)
	if !ok {
		return fmt.Errorf("change partition %s-%d: it is unknown", t.name, r.PartitionID)
	}
	next, err := p.Changed(r)
	if err != nil {
		return fmt.Errorf("change partition %s-%d: %w", t.name, r.PartitionID, err)
	}
	return d.put(t, r.PartitionID, &next)
}

// Changed gives what a PartitionChangeRecord makes of p, which stays as it
// is. Where the record names no directories, replicas that stay keep theirs
// and new ones are unassigned.
func (p *Partition) Changed(r *PartitionChangeRecord) (Partition, error) {
	next := *p
	next.PartitionEpoch++
	if r.ISR != nil {
		next.ISR = r.ISR
	}
	if r.Replicas != nil {
		next.Replicas = r.Replicas
		if len(p.Directories) > 0 && r.Directories == nil {
			next.Directories = make([]kafka.UUID, len(r.Replicas))
			for i, b := range r.Replicas {
				next.Directories[i] = p.Directory(b)
			}
		}
	}
	if r.Directories != nil {
		next.Directories = r.Directories
	}
	if n := len(next.Directories); n != 0 && n != len(next.Replicas) {
		return *p, fmt.Errorf("%d directories for %d replicas", n, len(next.Replicas))
	}
	if r.RemovingReplicas != nil {
		next.RemovingReplicas = emptyToNil(r.RemovingReplicas)
	}
	if r.AddingReplicas != nil {
		next.AddingReplicas = emptyToNil(r.AddingReplicas)
	}
	if r.Leader != LeaderUnchanged {
		next.Leader = r.Leader
		next.LeaderEpoch++
	}
	if r.LeaderRecoveryState != RecoveryStateUnchanged {
		next.LeaderRecoveryState = r.LeaderRecoveryState
	}
	if r.EligibleLeaderReplicas != nil || r.LastKnownELR != nil {
		elr, last := p.ELR(), p.LastKnownELR()
		if r.EligibleLeaderReplicas != nil {
			elr = r.EligibleLeaderReplicas
		}
		if r.LastKnownELR != nil {
			last = r.LastKnownELR
		}
		next.Eligible = newEligible(elr, last)
	}
	return next, nil
}

func emptyToNil(ids []kafka.BrokerID) []kafka.BrokerID {
	if len(ids) == 0 {
		return nil
	}
	return ids
}

func brokerOf(r *RegisterBrokerRecord) Broker {
	b := Broker{
		ID: r.BrokerID, Epoch: r.BrokerEpoch, Incarnation: r.IncarnationID, Fenced: r.Fenced,
		InControlledShutdown: r.InControlledShutdown, LogDirs: sortedDirs(r.LogDirs),
		CordonedLogDirs: cordoned(r.CordonedLogDirs), Features: featuresOf(r.Features),
	}
	b.Endpoints, b.SecurityProtocols = endpointsOf(r.EndPoints)
	if r.Rack != nil {
		b.Rack = *r.Rack
	}
	return b
}

func controllerOf(r *RegisterControllerRecord) Controller {
	c := Controller{ID: r.ControllerID, Incarnation: r.IncarnationID, Features: featuresOf(r.Features)}
	c.Endpoints, c.SecurityProtocols = endpointsOf(r.EndPoints)
	return c
}

func endpointsOf(es []RecordEndpoint) (endpoints []kafka.Endpoint, protocols []int16) {
	for i, e := range es {
		endpoints = append(endpoints, e.Endpoint)
		if e.SecurityProtocol != 0 && protocols == nil {
			protocols = make([]int16, len(es))
		}
		if protocols != nil {
			protocols[i] = e.SecurityProtocol
		}
	}
	return endpoints, protocols
}

func featuresOf(fs []RecordFeature) map[string]VersionRange {
	if len(fs) == 0 {
		return nil
	}
	m := make(map[string]VersionRange, len(fs))
	for _, f := range fs {
		m[f.Name] = VersionRange{f.Min, f.Max}
	}
	return m
}

// cordoned keeps apart that nothing is known and that no directory is cordoned.
func cordoned(dirs []kafka.UUID) []kafka.UUID {
	if dirs != nil && len(dirs) == 0 {
		return []kafka.UUID{}
	}
	return sortedDirs(dirs)
}

func sortedDirs(dirs []kafka.UUID) []kafka.UUID {
	if len(dirs) == 0 {
		return nil
	}
	s := slices.Clone(dirs)
	slices.SortFunc(s, func(a, b kafka.UUID) int { return slices.Compare(a[:], b[:]) })
	return s
}

package zkcluster

import (
	"cmp"
	"maps"
	"slices"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// broker is a broker as the controller's requests make it, with the checks that
// a broker of Kafka does before it obeys.
type broker struct {
	w      *world
	h      *host
	id     kafka.BrokerID
	p      *proc
	client *client
	epoch  kafka.BrokerEpoch // NoBrokerEpoch: requests are not taken yet
	news   bool              // something of /config/changes may be new

	controllerEpoch kafka.ControllerEpoch // highest seen
	controller      kafka.BrokerID        // who spoke last
	told            kafka.ControllerEpoch // of the last UpdateMetadata
	live            map[kafka.BrokerID]bool
	cache           map[string]*cached
	roles           map[kafka.TopicPartition]*role
	pending         []*proposal // ISRs asked for and not answered
	asking          bool

	configs map[string]map[string]string // of entities, for example topics/t
	seen    int64                        // the last of /config/changes
}

// cached is a topic in a broker's metadata.
type cached struct {
	id    kafka.UUID
	parts map[int32]machine.MetadataPartition
}

// role is what a broker does for a partition.
type role struct {
	topicID  kafka.UUID
	state    machine.LeaderISR
	replicas []kafka.BrokerID
	stopped  bool
	refused  bool // its ISR was, for a reason that only newer metadata can end
}

// answer is a broker's answer to a request of the controller.
type answer struct {
	code  kafka.ErrorCode
	codes []kafka.ErrorCode // by partition
}

func newBroker(h *host) *broker {
	return &broker{
		w: h.w, h: h, id: h.id, epoch: kafka.NoBrokerEpoch, controller: kafka.NoLeader,
		live: map[kafka.BrokerID]bool{}, cache: map[string]*cached{}, roles: map[kafka.TopicPartition]*role{},
		configs: map[string]map[string]string{}, seen: -1,
	}
}

// fence is what every request of a controller must pass.
func (b *broker) fence(controller kafka.BrokerID, epoch kafka.ControllerEpoch, own kafka.BrokerEpoch) kafka.ErrorCode {
	if own < b.epoch {
		b.w.cov.StaleBrokerEpochs++
		return kafka.StaleBrokerEpoch
	}
	if epoch < b.controllerEpoch {
		b.w.cov.ZombieRequests++
		return kafka.StaleControllerEpoch
	}
	b.controllerEpoch, b.controller = epoch, controller
	return kafka.None
}

// receive obeys a request or refuses it.
func (b *broker) receive(s *sender, r request) answer {
	b.w.judge.delivered(b, s, r)
	own := brokerEpochOf(r.e)
	code := b.fence(s.c.id, s.epoch, own)
	b.w.trace.request(b, s, r.e, code)
	if code != kafka.None {
		return answer{code: code}
	}
	b.w.judge.accepted(b, s, own)
	switch e := r.e.(type) {
	case *machine.LeaderAndISR:
		return b.leaderAndISR(s, e)
	case *machine.UpdateMetadata:
		b.updateMetadata(s, e)
	case *machine.StopReplica:
		return b.stopReplicas(e)
	}
	return answer{}
}

func brokerEpochOf(e machine.Effect) kafka.BrokerEpoch {
	switch e := e.(type) {
	case *machine.LeaderAndISR:
		return e.BrokerEpoch
	case *machine.UpdateMetadata:
		return e.BrokerEpoch
	}
	return e.(*machine.StopReplica).BrokerEpoch
}

func (b *broker) leaderAndISR(s *sender, e *machine.LeaderAndISR) answer {
	b.w.judge.informed(b, s, e)
	a := answer{codes: make([]kafka.ErrorCode, len(e.Partitions))}
	for i := range e.Partitions {
		p := &e.Partitions[i]
		tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		if a.codes[i] = b.acceptState(tp, p); a.codes[i] != kafka.None {
			b.w.cov.StaleStates++
			continue
		}
		b.w.judge.assigned(b, tp, b.roles[tp], p)
		b.roles[tp] = &role{topicID: p.TopicID, state: p.State, replicas: p.Assignment.Replicas}
	}
	return a
}

// acceptState says whether one partition's state applies here.
func (b *broker) acceptState(tp kafka.TopicPartition, p *machine.LeaderAndISRPartition) kafka.ErrorCode {
	held := b.roles[tp]
	switch {
	case held != nil && held.topicID != p.TopicID:
		return kafka.InconsistentTopicID
	case !slices.Contains(p.Assignment.Replicas, b.id):
		return kafka.UnknownTopicOrPartition
	case held != nil && p.State.LeaderEpoch <= held.state.LeaderEpoch:
		return kafka.StaleControllerEpoch
	}
	return kafka.None
}

func (b *broker) updateMetadata(s *sender, e *machine.UpdateMetadata) {
	b.told = s.epoch
	clear(b.live)
	for _, l := range e.Live {
		b.live[l.ID] = true
	}
	for i := range e.Partitions {
		p := &e.Partitions[i]
		t := b.cache[p.Topic]
		if p.State.Leader == machine.LeaderDuringDelete {
			delete(b.cache, p.Topic)
			continue
		}
		if t == nil || t.id != p.TopicID {
			t = &cached{p.TopicID, map[int32]machine.MetadataPartition{}}
			b.cache[p.Topic] = t
		}
		var old *machine.MetadataPartition
		if was, ok := t.parts[p.Partition]; ok {
			old = &was
		}
		b.w.judge.served(b, old, p)
		t.parts[p.Partition] = *p
	}
}

func (b *broker) stopReplicas(e *machine.StopReplica) answer {
	a := answer{codes: make([]kafka.ErrorCode, len(e.Partitions))}
	for i := range e.Partitions {
		p := &e.Partitions[i]
		tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		held := b.roles[tp]
		if held != nil && p.LeaderEpoch >= 0 && p.LeaderEpoch < held.state.LeaderEpoch {
			a.codes[i] = kafka.FencedLeaderEpoch
			continue
		}
		b.w.judge.stopping(b, tp, held, p)
		switch {
		case held == nil:
		case p.Delete:
			b.w.cov.ReplicasDeleted++
			delete(b.roles, tp)
		default:
			held.stopped = true
		}
	}
	return a
}

// led gives the partitions that b leads, in order.
func (b *broker) led() []kafka.TopicPartition {
	var out []kafka.TopicPartition
	for tp, r := range b.roles {
		if r.state.Leader == b.id && !r.stopped {
			out = append(out, tp)
		}
	}
	slices.SortFunc(out, comparePartitions)
	return out
}

func comparePartitions(a, b kafka.TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

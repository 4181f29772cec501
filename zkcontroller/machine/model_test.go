package machine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"kbench/kafka"
)

// model is ZooKeeper as the machine sees it: what is in the znodes, and which
// watches are armed. Changes of watched znodes queue events, as the shell does.
type model struct {
	epoch          kafka.ControllerEpoch // of /controller_epoch
	fence          kafka.ControllerEpoch // of the controller that writes
	zxid           int64
	brokers        map[kafka.BrokerID]Broker
	topics         map[string]TopicRead
	states         map[kafka.TopicPartition]LeaderISR
	configs        map[string]map[string]string
	deletions      map[string]bool
	preferred      []kafka.TopicPartition
	preferredNext  []kafka.TopicPartition // of a tool that waits for the znode to go
	notes          map[Notes][]note
	noted          int
	changes        []string // entity paths under /config/changes
	features       map[string]int16
	featureVersion int32
	reassign       []ReassignTarget // nil: no znode
	watching       map[kafka.TopicPartition]bool
	pids           int64
	watched        map[string]bool
	events         []Input
	interfere      func(tp kafka.TopicPartition) // called before each write of a state
	reads          int                           // of znodes
	writes         int
}

// note is an entry of a queue of notifications.
type note struct {
	name       string
	partitions []kafka.TopicPartition
	broker     kafka.BrokerID
}

// notify adds a notification.
func (s *model) notify(q Notes, n note, e Input) {
	s.noted++
	n.name = fmt.Sprintf("note_%d", s.noted)
	s.notes[q] = append(s.notes[q], n)
	s.fire(fmt.Sprintf("notes %d", q), e)
}

// configure writes a configuration and its notification.
func (s *model) configure(entity, key, value string) {
	name := strings.TrimPrefix(entity, "topics/")
	s.configs[name] = map[string]string{key: value}
	s.changes = append(s.changes, entity)
	s.fire("config changes", ConfigChanged{})
}

func newModel() *model {
	return &model{
		brokers: map[kafka.BrokerID]Broker{}, topics: map[string]TopicRead{}, states: map[kafka.TopicPartition]LeaderISR{},
		configs: map[string]map[string]string{}, deletions: map[string]bool{}, pids: -1, watched: map[string]bool{},
		watching: map[kafka.TopicPartition]bool{}, notes: map[Notes][]note{},
	}
}

func (s *model) fire(watch string, e Input) {
	if s.watched[watch] {
		delete(s.watched, watch)
		s.events = append(s.events, e)
	}
}

func (s *model) register(id kafka.BrokerID, rack string) {
	s.zxid++
	s.brokers[id] = Broker{ID: id, Epoch: kafka.BrokerEpoch(s.zxid), Rack: rack, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: uint16(id)}}}
	s.fire("brokers", BrokerChange{})
}

func (s *model) unregister(id kafka.BrokerID) {
	delete(s.brokers, id)
	s.fire("brokers", BrokerChange{})
}

// run carries out a batch; desc is a line for the trace.
func (s *model) run(b Batch) (desc string, err error) {
	fenced := func() error {
		if s.epoch != s.fence {
			return ErrFenced
		}
		return nil
	}
	switch b := b.(type) {
	case *ReadBrokers:
		s.watched["brokers"] = true
		for _, id := range slices.Sorted(maps.Keys(s.brokers)) {
			b.Brokers = append(b.Brokers, s.brokers[id])
		}
		s.reads += 1 + len(b.Brokers)
		return fmt.Sprintf("read brokers: %d", len(b.Brokers)), nil
	case *ReadTopics:
		s.watched["topics"] = true
		b.Topics = slices.Sorted(maps.Keys(s.topics))
		s.reads++
		return fmt.Sprintf("read topics: %d", len(b.Topics)), nil
	case *ReadAssignments:
		for _, t := range b.Topics {
			r := s.topics[t]
			b.Results = append(b.Results, r)
			s.watched["topic "+t] = r.Found
		}
		s.reads += len(b.Topics)
		return fmt.Sprintf("read assignments: %s", strings.Join(b.Topics, " ")), nil
	case *WriteAssignments:
		if b.Fenced {
			if err := fenced(); err != nil {
				return "write assignments", err
			}
		}
		for _, w := range b.Writes {
			s.topics[w.Topic] = TopicRead{true, w.ID, maps.Clone(w.Partitions)}
			b.Codes = append(b.Codes, WriteResult{})
			s.fire("topic "+w.Topic, TopicModified{w.Topic})
		}
		return fmt.Sprintf("write assignments: %d", len(b.Writes)), nil
	case *CreateTopics:
		for _, w := range b.Topics {
			if s.topics[w.Topic].Found {
				b.Codes = append(b.Codes, WriteResult{Code: NodeExists})
				continue
			}
			s.configs[w.Topic] = w.Config
			s.topics[w.Topic] = TopicRead{true, w.ID, w.Partitions}
			b.Codes = append(b.Codes, WriteResult{})
			s.fire("topics", TopicChange{})
		}
		return fmt.Sprintf("create topics: %d", len(b.Topics)), nil
	case *ReadStates:
		for _, tp := range b.Partitions {
			st, ok := s.states[tp]
			b.Results = append(b.Results, StateRead{ok, st})
		}
		s.reads += len(b.Partitions)
		return fmt.Sprintf("read states: %s", few(b.Partitions)), nil
	case *WriteStates:
		lines := []string{"write states:"}
		for _, w := range b.Writes {
			if s.interfere != nil {
				s.interfere(w.Partition)
			}
			if err := fenced(); err != nil {
				return "write states", err
			}
			r := s.write(w)
			b.Results = append(b.Results, r)
			lines = append(lines, fmt.Sprintf("  %v %s -> %s v%d", w.Partition, show(w.State), r, r.Version))
		}
		return limit(lines), nil
	case *CreateStates:
		lines := []string{"create states:"}
		for _, w := range b.Writes {
			if err := fenced(); err != nil {
				return "create states", err
			}
			if _, ok := s.states[w.Partition]; ok {
				b.Results = append(b.Results, WriteResult{Code: NodeExists})
				continue
			}
			st := w.State
			st.Version = 0
			s.states[w.Partition] = st
			s.writes++
			b.Results = append(b.Results, WriteResult{})
			lines = append(lines, fmt.Sprintf("  %v %s", w.Partition, show(st)))
		}
		return limit(lines), nil
	case *ReadConfigs:
		for _, t := range b.Topics {
			b.Configs = append(b.Configs, s.configs[t])
		}
		return fmt.Sprintf("read configs: %s", strings.Join(b.Topics, " ")), nil
	case *ReadDeletions:
		s.watched["deletions"] = true
		b.Topics = slices.Sorted(maps.Keys(s.deletions))
		return fmt.Sprintf("read deletions: %s", strings.Join(b.Topics, " ")), nil
	case *CreateDeletions:
		for _, t := range b.Topics {
			s.deletions[t] = true
			b.Codes = append(b.Codes, WriteResult{})
			s.fire("deletions", TopicDeletion{})
		}
		return fmt.Sprintf("create deletions: %s", strings.Join(b.Topics, " ")), nil
	case *RemoveDeletions:
		for _, t := range b.Topics {
			delete(s.deletions, t)
		}
		return fmt.Sprintf("remove deletions: %s", strings.Join(b.Topics, " ")), fenced()
	case *RemoveTopics:
		if err := fenced(); err != nil {
			return "remove topics", err
		}
		for _, t := range b.Topics {
			for n := range s.topics[t].Partitions {
				delete(s.states, kafka.TopicPartition{Topic: t, Partition: n})
			}
			delete(s.topics, t)
			delete(s.configs, t)
			delete(s.deletions, t)
			s.fire("topics", TopicChange{})
			s.fire("deletions", TopicDeletion{})
		}
		return fmt.Sprintf("remove topics: %s", strings.Join(b.Topics, " ")), nil
	case *ClearNotes:
		s.watched[fmt.Sprintf("notes %d", b.Queue)] = true
		s.notes[b.Queue] = nil
		return fmt.Sprintf("clear notes: %d", b.Queue), fenced()
	case *ReadNotes:
		s.watched[fmt.Sprintf("notes %d", b.Queue)] = true
		for _, n := range s.notes[b.Queue] {
			b.Names = append(b.Names, n.name)
			b.Partitions = append(b.Partitions, n.partitions...)
			if b.Queue == LogDirNotes {
				b.Brokers = append(b.Brokers, n.broker)
			}
		}
		return fmt.Sprintf("read notes %d: %s", b.Queue, strings.Join(b.Names, " ")), nil
	case *RemoveNotes:
		s.notes[b.Queue] = slices.DeleteFunc(s.notes[b.Queue], func(n note) bool { return slices.Contains(b.Names, n.name) })
		return fmt.Sprintf("remove notes %d: %s", b.Queue, strings.Join(b.Names, " ")), fenced()
	case *ReadConfigChanges:
		s.watched["config changes"] = true
		b.Last = max(b.After, int64(len(s.changes))-1)
		if !b.SkipOld {
			b.Entities = s.changes[b.After+1:]
		}
		return fmt.Sprintf("read config changes: %s", strings.Join(b.Entities, " ")), nil
	case *ReadBrokerConfigs:
		b.Default, b.Own = s.configs["brokers/<default>"], s.configs[fmt.Sprintf("brokers/%d", b.ID)]
		return fmt.Sprintf("read broker configs: %v %v", b.Default, b.Own), nil
	case *ReadFeature:
		b.Version, b.Features = s.featureVersion, maps.Clone(s.features)
		return fmt.Sprintf("read feature: %v", b.Features), nil
	case *WriteFeature:
		if err := fenced(); err != nil {
			return "write feature", err
		}
		if b.Version != s.featureVersion {
			b.Result.Code = BadVersion
			return "write feature: version changed", nil
		}
		s.featureVersion++
		s.features = b.Features
		return fmt.Sprintf("write feature: %v", b.Features), nil
	case *ReadPreferred:
		s.watched["preferred"] = true
		b.Found, b.Partitions = s.preferred != nil, s.preferred
		return fmt.Sprintf("read preferred: %s", few(b.Partitions)), nil
	case *RemovePreferred:
		s.preferred, s.preferredNext = s.preferredNext, nil
		delete(s.watched, "preferred") // spent on the removal, which is no news
		return "remove preferred", fenced()
	case *ReadReassign:
		s.watched["reassign"] = true
		b.Found, b.Targets = s.reassign != nil, slices.Clone(s.reassign)
		lines := []string{fmt.Sprintf("read reassignments: %v", b.Found)}
		for _, t := range b.Targets {
			lines = append(lines, fmt.Sprintf("  %v to %v", t.Partition, t.Replicas))
		}
		return limit(lines), nil
	case *WriteReassign:
		if err := fenced(); err != nil {
			return "write reassignments", err
		}
		if s.reassign = b.Targets; len(b.Targets) == 0 {
			s.reassign = nil
			return "remove reassignments", nil
		}
		return fmt.Sprintf("write reassignments: %d", len(b.Targets)), nil
	case *ReadProducerIDs:
		b.Last = s.pids
		return "read producer ids", nil
	case *WriteProducerIDs:
		s.pids = b.End
		return fmt.Sprintf("write producer ids: %d to %d", b.First, b.End), nil
	case *EnsureFeature:
		return "ensure feature", fenced()
	}
	panic(fmt.Sprintf("unknown batch %T", b))
}

func (s *model) write(w StateWrite) WriteResult {
	old, ok := s.states[w.Partition]
	switch {
	case !ok:
		return WriteResult{Code: NoNode}
	case old.Version != w.State.Version:
		return WriteResult{Code: BadVersion}
	}
	st := w.State
	st.Version++
	s.states[w.Partition] = st
	s.writes++
	return WriteResult{Version: st.Version}
}

// bump is another writer's change of a state.
func (s *model) bump(tp kafka.TopicPartition) {
	st := s.states[tp]
	st.Version++
	s.states[tp] = st
}

func show(s LeaderISR) string {
	rec := ""
	if s.Recovery != kafka.Recovered {
		rec = " recovering"
	}
	return fmt.Sprintf("leader %d epoch %d isr %v ce %d%s", s.Leader, s.LeaderEpoch, s.ISR, s.ControllerEpoch, rec)
}

func few(tps []kafka.TopicPartition) string {
	var out []string
	for i, tp := range tps {
		if i == 6 {
			out = append(out, fmt.Sprintf("and %d more", len(tps)-6))
			break
		}
		out = append(out, tp.String())
	}
	return strings.Join(out, " ")
}

func limit(lines []string) string {
	if len(lines) > 9 {
		lines = append(lines[:8], fmt.Sprintf("  and %d more", len(lines)-8))
	}
	return strings.Join(lines, "\n")
}

func testRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

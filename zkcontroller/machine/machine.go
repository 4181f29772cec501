package machine

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"kbench/kafka"
)

// Machine is one controller. It is not safe for concurrent use.
type Machine struct {
	cfg    Config
	active bool // failover is done
	epoch  kafka.ControllerEpoch
	ctx    *context
	calls  waiting
	flow   *flow // not nil while a Batch is out
	out    []Effect
	stamp  uint32                      // of the request batch being gathered
	open   map[kafka.BrokerID]struct{} // brokers with a queue of requests
}

// New makes a machine that is not controller.
func New(cfg Config) *Machine {
	cfg.setDefaults()
	m := &Machine{cfg: cfg, open: map[kafka.BrokerID]struct{}{}}
	m.reset()
	return m
}

func (m *Machine) reset() {
	m.active, m.epoch = false, 0
	m.ctx = newContext()
	m.calls = newWaiting()
}

// Waiting reports whether a Batch is out, so that only Done, Resign and
// Abandon may come.
func (m *Machine) Waiting() bool { return m.flow != nil }

// Active reports whether this controller has finished its failover and not
// resigned.
func (m *Machine) Active() bool { return m.active }

// Epoch is the controller epoch held, 0 for none.
func (m *Machine) Epoch() kafka.ControllerEpoch { return m.epoch }

// Partitions gives how many partitions the context holds.
func (m *Machine) Partitions() int { return m.ctx.partitions }

// Step takes one input and gives the effects of it, which belong to the
// caller. While Waiting, any event but Done, Resign and Abandon is a mistake of
// the caller and panics.
func (m *Machine) Step(in Input) []Effect {
	switch in := in.(type) {
	case Resign:
		m.resign()
	case Abandon:
		m.calls.abandon(in.Call)
	case Done:
		if m.flow == nil {
			panic("machine: Done without a batch")
		}
		m.flow.err = in.Err
		m.advance()
	default:
		if m.flow != nil {
			panic(fmt.Sprintf("machine: %T while a batch is out", in))
		}
		m.begin(in)
	}
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) emit(e Effect) {
	switch e := e.(type) {
	case *AddBroker:
		m.open[e.Broker.ID] = struct{}{}
	case *RemoveBroker:
		delete(m.open, e.Broker)
	}
	m.out = append(m.out, e)
}

func (m *Machine) note(format string, args ...any) {
	m.emit(&Note{Text: fmt.Sprintf(format, args...)})
}

// flow is the handling of one event: a coroutine that gives out batches.
type flow struct {
	m     *Machine
	what  string
	yield func(Batch) bool
	next  func() (Batch, bool)
	stop  func()
	err   error // of the batch that came back
	end   error // of the flow
}

// errStopped ends a flow whose controller resigned while it waited.
var errStopped = errors.New("resigned")

// do hands out b and returns when it is done. After an error the flow must
// return it at once.
func (f *flow) do(b Batch) error {
	if !f.yield(b) {
		return errStopped
	}
	return f.err
}

// run starts a flow and lets it go to its first batch or its end.
func (m *Machine) run(what string, body func(f *flow) error) {
	f := &flow{m: m, what: what}
	f.next, f.stop = iter.Pull(func(yield func(Batch) bool) {
		f.yield = yield
		f.end = body(f)
	})
	m.flow = f
	m.advance()
}

func (m *Machine) advance() {
	f := m.flow
	b, more := f.next()
	if more {
		m.emit(b)
		return
	}
	m.flow = nil
	if f.end == nil {
		return
	}
	// A flow that broke off leaves the context and the store apart. Kafka
	// carries on unless it was fenced; here the controller gives up and a
	// failover reads everything anew, its own among the candidates.
	reason := fmt.Sprintf("%s: %v", f.what, f.end)
	m.note("controller %d gives up epoch %d: %s", m.cfg.ID, m.epoch, reason)
	m.resign()
	m.emit(&GiveUp{Reason: reason})
}

// resign forgets everything and answers every call.
func (m *Machine) resign() {
	if f := m.flow; f != nil {
		m.flow = nil
		f.stop()
	}
	for _, id := range slices.Sorted(m.calls.ids()) {
		m.emit(&Reply{Call: id, Final: true, Body: m.calls.refusal(id)})
	}
	for _, id := range slices.Sorted(maps.Keys(m.open)) {
		m.emit(&RemoveBroker{Broker: id})
	}
	if m.epoch > 0 {
		m.emit(&Moment{Kind: Resigned, Epoch: m.epoch})
	}
	m.reset()
}

// begin handles an event.
func (m *Machine) begin(in Input) {
	if e, ok := in.(Elected); ok {
		m.epoch = e.Epoch
		m.run("failover", m.failover)
		return
	}
	if !m.active {
		m.refuse(in)
		return
	}
	switch e := in.(type) {
	case BrokerChange:
		m.run("broker change", m.brokerChange)
	case BrokerModified:
		m.run("broker modified", m.brokerModified)
	case TopicChange:
		m.run("topic change", m.topicChange)
	case TopicModified:
		m.run("topic modified", func(f *flow) error { return m.topicModified(f, e.Topic) })
	case TopicDeletion:
		m.run("topic deletion", m.topicDeletion)
	case ISRNotified:
		m.run("ISR notification", m.isrNotified)
	case LogDirNotified:
		m.run("log directory notification", m.logDirNotified)
	case ConfigChanged:
		m.run("config change", m.configChanged)
	case PreferredElection:
		m.run("preferred election", m.preferredElection)
	case ZnodeReassignment:
		m.run("reassignment by znode", func(f *flow) error {
			_, err := m.znodeReassignment(f)
			return err
		})
	case ReassignISRChanged:
		m.run("ISR of a reassignment", func(f *flow) error { return m.reassignISRChanged(f, e.Partition) })
	case Rebalance:
		m.run("rebalance", m.rebalance)
	case LeaderAndISRDone:
		m.run("LeaderAndIsr answer", func(f *flow) error { return m.leaderAndISRDone(f, e) })
	case StopReplicaDone:
		m.run("StopReplica answer", func(f *flow) error { return m.stopReplicaDone(f, e) })
	case Resync:
		m.run("resync", func(f *flow) error { return m.resync(f, e.Broker) })
	default:
		m.beginCall(in)
	}
}

// beginCall handles a request of a broker or a client.
func (m *Machine) beginCall(in Input) {
	id, refusal := callOf(in)
	m.calls.open(id, refusal)
	m.run(fmt.Sprintf("%T", in), func(f *flow) error {
		switch e := in.(type) {
		case ControlledShutdown:
			return m.controlledShutdown(f, e)
		case AlterPartition:
			return m.alterPartition(f, e)
		case ElectLeaders:
			return m.electLeaders(f, e)
		case AllocateProducerIDs:
			return m.allocateProducerIDs(f, e)
		case AdminCreateTopics:
			return m.createTopics(f, e)
		case AdminCreatePartitions:
			return m.createPartitions(f, e)
		case AdminDeleteTopics:
			return m.deleteTopics(f, e)
		case AlterReassignments:
			return m.alterReassignments(f, e)
		case ListReassignments:
			m.listReassignments(e)
			return nil
		case UpdateFeatures:
			return m.updateFeatures(f, e)
		}
		panic(fmt.Sprintf("machine: unknown input %T", in))
	})
}

// refuse answers a call that came to a controller that is not active.
func (m *Machine) refuse(in Input) {
	if id, refusal := callOf(in); refusal != nil {
		m.emit(&Reply{Call: id, Final: true, Body: refusal})
	}
}

// Refusal gives the call an event carries and the answer to it by a broker that
// is not the active controller; nil for an event that carries no call.
func Refusal(in Input) (CallID, any) { return callOf(in) }

// callOf gives the call an event carries, and the answer for when this is not
// the active controller; nil for an event that carries none.
func callOf(in Input) (CallID, any) {
	switch e := in.(type) {
	case ControlledShutdown:
		return e.Call, ControlledShutdownReply{Code: kafka.StaleControllerEpoch}
	case AlterPartition:
		return e.Call, AlterPartitionReply{Code: kafka.NotController}
	case ElectLeaders:
		return e.Call, ElectLeadersReply{Code: kafka.NotController}
	case AllocateProducerIDs:
		return e.Call, AllocateProducerIDsReply{Code: kafka.NotController}
	case AdminCreateTopics:
		return e.Call, TopicsReply{Code: kafka.NotController}
	case AdminCreatePartitions:
		return e.Call, TopicsReply{Code: kafka.NotController}
	case AdminDeleteTopics:
		return e.Call, TopicsReply{Code: kafka.NotController}
	case AlterReassignments:
		return e.Call, AlterReassignmentsReply{Code: kafka.NotController}
	case ListReassignments:
		return e.Call, ListReassignmentsReply{Code: kafka.NotController}
	case UpdateFeatures:
		return e.Call, UpdateFeaturesReply{Code: kafka.NotController}
	}
	return 0, nil
}

// reply answers a call for good.
func (m *Machine) reply(id CallID, body any, afterMetadata bool) {
	if m.calls.close(id) {
		m.emit(&Reply{Call: id, Final: true, AfterMetadata: afterMetadata, Body: body})
	}
}

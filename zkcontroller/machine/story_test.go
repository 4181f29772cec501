package machine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"kbench/kafka"
	"kbench/kafka/ibp"
)

// A story is a file of commands on one cluster; everything the controller does
// is the golden output.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := newStory(Config{ID: 1, Rand: testRand()})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			s.command(t, d)
			return s.out.String()
		})
	})
}

type story struct {
	cfg  Config
	m    *Machine
	zk   *model
	out  strings.Builder
	call CallID
	// hold keeps the batch that is out, for commands that come in between.
	hold  bool
	batch Batch
	drop  string // the type of an event that is never handed over
}

func newStory(cfg Config) *story { return &story{cfg: cfg, m: New(cfg), zk: newModel()} }

// step gives the machine an input and runs it to the end, then the events that
// followed.
func (s *story) step(in Input) {
	if s.dropped(in) {
		return
	}
	effects := s.m.Step(in)
	for {
		s.print(effects)
		if !s.m.Waiting() {
			break
		}
		b := effects[len(effects)-1].(Batch)
		if s.hold {
			s.batch, s.hold = b, false
			return
		}
		desc, err := s.zk.run(b)
		if err != nil {
			desc += ": " + err.Error()
		}
		fmt.Fprintln(&s.out, desc)
		effects = s.m.Step(Done{Err: err})
	}
	if len(s.zk.events) > 0 {
		e := s.zk.events[0]
		s.zk.events = s.zk.events[1:]
		fmt.Fprintf(&s.out, "event %T%v\n", e, e)
		s.step(e)
	}
}

func (s *story) print(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case *LeaderAndISR:
			fmt.Fprintf(&s.out, "LeaderAndIsr to %d (epoch %d), leaders %s\n", e.Broker, e.BrokerEpoch, brokerList(e.Leaders))
			lines := []string{}
			for _, p := range e.Partitions {
				isNew := ""
				if p.IsNew {
					isNew = " new"
				}
				lines = append(lines, fmt.Sprintf("  %s-%d %s v%d replicas %s%s", p.Topic, p.Partition, show(p.State), p.State.Version, assigned(p.Assignment), isNew))
			}
			fmt.Fprintln(&s.out, limit(lines))
		case *UpdateMetadata:
			fmt.Fprintf(&s.out, "UpdateMetadata to %d, live %s\n", e.Broker, brokerList(e.Live))
			lines := []string{}
			for _, p := range e.Partitions {
				off := ""
				if len(p.Offline) > 0 {
					off = fmt.Sprintf(" offline %v", p.Offline)
				}
				lines = append(lines, fmt.Sprintf("  %s-%d leader %d epoch %d isr %v%s", p.Topic, p.Partition, p.State.Leader, p.State.LeaderEpoch, p.State.ISR, off))
			}
			if len(lines) > 0 {
				fmt.Fprintln(&s.out, limit(lines))
			}
		case *StopReplica:
			fmt.Fprintf(&s.out, "StopReplica to %d\n", e.Broker)
			lines := []string{}
			for _, p := range e.Partitions {
				lines = append(lines, fmt.Sprintf("  %s-%d epoch %d delete %v", p.Topic, p.Partition, p.LeaderEpoch, p.Delete))
			}
			fmt.Fprintln(&s.out, limit(lines))
		case *AddBroker:
			fmt.Fprintf(&s.out, "channel to %d\n", e.Broker.ID)
		case *RemoveBroker:
			fmt.Fprintf(&s.out, "no channel to %d\n", e.Broker)
		case *Reply:
			fmt.Fprintf(&s.out, "reply %d final %v after-metadata %v: %s\n", e.Call, e.Final, e.AfterMetadata, body(e.Body))
		case *Moment:
			name := map[MomentKind]string{Loaded: "loaded", Active: "active", Resigned: "resigned", BrokerDead: "broker dead", BrokerLive: "broker live", ShutdownGranted: "shutdown granted"}[e.Kind]
			fmt.Fprintf(&s.out, "%s: epoch %d broker %d\n", name, e.Epoch, e.Broker)
		case *GiveUp:
			fmt.Fprintf(&s.out, "give up: %s\n", e.Reason)
		case *Queue:
			s.zk.events = append(s.zk.events, e.Event)
		case *WatchState:
			s.zk.watching[e.Partition] = e.On
			fmt.Fprintf(&s.out, "watch state of %v: %v\n", e.Partition, e.On)
		case *Note:
			fmt.Fprintf(&s.out, "note: %s\n", e.Text)
		}
	}
}

func body(b any) string {
	switch r := b.(type) {
	case TopicsReply:
		out := r.Code.String()
		for _, t := range r.Topics {
			out += fmt.Sprintf(" [%s %v %s]", t.Name, t.Code, t.Text)
		}
		return out
	case ControlledShutdownReply:
		return fmt.Sprintf("%v remaining %s", r.Code, few(r.Remaining))
	case AlterPartitionReply:
		out := r.Code.String()
		for _, x := range r.Results {
			if x.Code != kafka.None {
				out += fmt.Sprintf(" [%v]", x.Code)
				continue
			}
			out += fmt.Sprintf(" [%s v%d]", show(x.State), x.State.Version)
		}
		return out
	case AlterReassignmentsReply:
		out := r.Code.String()
		for _, x := range r.Results {
			out += fmt.Sprintf(" [%v %s]", x.Code, x.Text)
		}
		return out
	case ListReassignmentsReply:
		out := r.Code.String()
		for _, x := range r.Partitions {
			out += fmt.Sprintf(" [%v %s]", x.Partition, assigned(x.Assignment))
		}
		return out
	case ElectLeadersReply:
		out := r.Code.String()
		for _, x := range r.Results {
			out += fmt.Sprintf(" [%v %v]", x.Partition, x.Code)
		}
		return out
	}
	return fmt.Sprintf("%+v", b)
}

func assigned(a Assignment) string {
	s := fmt.Sprint(a.Replicas)
	if len(a.Adding) > 0 {
		s += fmt.Sprintf(" adding %v", a.Adding)
	}
	if len(a.Removing) > 0 {
		s += fmt.Sprintf(" removing %v", a.Removing)
	}
	return s
}

func brokerList(bs []*Broker) string {
	ids := make([]string, len(bs))
	for i, b := range bs {
		ids[i] = strconv.Itoa(int(b.ID))
	}
	return strings.Join(ids, ",")
}

func (s *story) next() CallID { s.call++; return s.call }

func ids(vals []string) []kafka.BrokerID {
	var out []kafka.BrokerID
	for _, v := range vals {
		n, err := strconv.Atoi(v)
		if err != nil {
			panic(err)
		}
		out = append(out, kafka.BrokerID(n))
	}
	return out
}

func arg(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func num(d *datadriven.TestData, key string, or int) int {
	if v := arg(d, key); len(v) > 0 {
		n, err := strconv.Atoi(v[0])
		if err != nil {
			panic(err)
		}
		return n
	}
	return or
}

func parts(vals []string) []kafka.TopicPartition {
	var out []kafka.TopicPartition
	for _, v := range vals {
		i := strings.LastIndexByte(v, '-')
		n, err := strconv.Atoi(v[i+1:])
		if err != nil {
			panic(err)
		}
		out = append(out, kafka.TopicPartition{Topic: v[:i], Partition: int32(n)})
	}
	return out
}

// epochOf is the registration that an answer of a broker is of: the broker's, or
// one that the story names.
func (s *story) epochOf(d *datadriven.TestData, id kafka.BrokerID) kafka.BrokerEpoch {
	return kafka.BrokerEpoch(num(d, "epoch", int(s.zk.brokers[id].Epoch)))
}

func (s *story) command(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "option":
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "unclean":
				s.cfg.UncleanElection = true
			case "per-partition":
				s.cfg.PerPartition, s.cfg.OneByOne = true, true
			case "held-states":
				s.cfg.HeldStates = true
			case "ibp":
				v, err := ibp.Parse(a.Vals[0])
				if err != nil {
					t.Fatal(err)
				}
				s.cfg.Protocol = v
			case "full-metadata":
				s.cfg.FullMetadata = true
			case "no-broker-epochs":
				s.cfg.NoBrokerEpochs = true
			case "no-deletion":
				s.cfg.NoDeletion = true
			case "dedicated":
				s.cfg.Dedicated = ids(a.Vals)
			case "list-limit":
				s.cfg.MaxListBytes = num(d, "list-limit", 0)
			case "limit":
				s.cfg.MaxRequestBytes = num(d, "limit", 0)
			default:
				t.Fatalf("unknown option %s", a.Key)
			}
		}
		s.m = New(s.cfg)
	case "brokers": // present before anything watches
		for _, id := range ids(arg(d, "ids")) {
			s.zk.register(id, "")
		}
		s.drain()
	case "elect":
		s.zk.epoch++
		s.zk.fence = s.zk.epoch
		s.step(Elected{Epoch: s.zk.epoch})
	case "successor": // another process takes over
		s.m = New(s.cfg)
		s.zk.watched, s.zk.events = map[string]bool{}, nil
		s.zk.epoch++
		s.zk.fence = s.zk.epoch
		s.step(Elected{Epoch: s.zk.epoch})
	case "usurp": // another controller writes the epoch, this one does not know
		s.zk.epoch++
	case "resign":
		s.step(Resign{})
	case "hold": // keep the next batch out
		s.hold = true
	case "go": // run the batch that was kept
		desc, err := s.zk.run(s.batch)
		fmt.Fprintln(&s.out, desc)
		s.step(Done{Err: err})
	case "interfere":
		times := num(d, "times", 1)
		s.zk.interfere = func(tp kafka.TopicPartition) {
			if times > 0 {
				times--
				s.zk.bump(tp)
			}
		}
	case "start", "bounce":
		for _, id := range ids(arg(d, "ids")) {
			s.zk.register(id, "")
		}
		s.drain()
	case "kill":
		for _, id := range ids(arg(d, "ids")) {
			s.zk.unregister(id)
		}
		s.drain()
	case "create":
		s.step(s.create(d))
	case "enlarge":
		n := MorePartitions{Name: arg(d, "topic")[0], Count: int32(num(d, "count", 0))}
		if a := arg(d, "replicas"); a != nil {
			n.Assignment = [][]kafka.BrokerID{ids(a)}
		}
		s.step(AdminCreatePartitions{Call: s.next(), Topics: []MorePartitions{n}})
	case "delete":
		e := AdminDeleteTopics{Call: s.next()}
		for _, n := range arg(d, "topics") {
			e.Topics = append(e.Topics, TopicRef{Name: n})
		}
		if d.HasArg("unknown-id") {
			e.Topics = append(e.Topics, TopicRef{ID: kafka.UUID{9}})
		}
		s.step(e)
	case "delete-znode": // a tool asks for deletions
		for _, n := range arg(d, "topics") {
			s.zk.deletions[n] = true
		}
		s.zk.fire("deletions", TopicDeletion{})
		s.drain()
	case "config":
		s.zk.configs[arg(d, "topic")[0]] = map[string]string{arg(d, "key")[0]: arg(d, "value")[0]}
	case "configure": // with a notification
		s.zk.configure(arg(d, "entity")[0], arg(d, "key")[0], arg(d, "value")[0])
		s.drain()
	case "isr-note":
		s.zk.notify(ISRNotes, note{partitions: parts(arg(d, "partitions"))}, ISRNotified{})
		s.drain()
	case "log-dir-note":
		s.zk.notify(LogDirNotes, note{broker: kafka.BrokerID(num(d, "broker", 0))}, LogDirNotified{})
		s.drain()
	case "supports": // brokers register features
		for _, id := range slices.Sorted(maps.Keys(s.zk.brokers)) {
			b := s.zk.brokers[id]
			b.Features = map[string][2]int16{arg(d, "feature")[0]: {int16(num(d, "min", 1)), int16(num(d, "max", 1))}}
			s.zk.brokers[id] = b
			s.step(BrokerModified{id})
		}
	case "update-feature":
		s.step(UpdateFeatures{
			Call: s.next(), ValidateOnly: d.HasArg("validate"),
			Updates: []FeatureUpdate{{arg(d, "feature")[0], int16(num(d, "level", 0)), UpgradeType(num(d, "type", 1))}},
		})
	case "rewrite-feature": // by another, so that the version that was read is old
		s.zk.featureVersion++
	case "lose-states": // of a topic: what a deletion that broke off leaves
		for tp := range s.zk.states {
			if tp.Topic == arg(d, "topic")[0] {
				delete(s.zk.states, tp)
			}
		}
	case "rewrite-topic": // by hand: partitions 0 to n-1, each on the brokers of a line
		name := arg(d, "topic")[0]
		r := TopicRead{Found: true, ID: s.zk.topics[name].ID, Partitions: map[int32]Assignment{}}
		for line := range strings.Lines(d.Input) {
			r.Partitions[int32(len(r.Partitions))] = Assignment{Replicas: ids(strings.Fields(line))}
		}
		s.zk.topics[name] = r
		s.zk.fire("topic "+name, TopicModified{name})
		s.drain()
	case "topic-ids":
		for _, t := range slices.Sorted(maps.Keys(s.zk.topics)) {
			fmt.Fprintf(&s.out, "%s %s\n", t, s.zk.topics[t].ID)
		}
	case "move-endpoint": // a broker registers another address
		b := s.zk.brokers[kafka.BrokerID(num(d, "broker", 0))]
		b.Endpoints = []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "elsewhere", Port: 1}}
		s.zk.brokers[b.ID] = b
		s.step(BrokerModified{b.ID})
	case "stopped": // a broker's answer to deletions
		id := kafka.BrokerID(num(d, "broker", 0))
		e := StopReplicaDone{Broker: id, Epoch: s.epochOf(d, id), Controller: kafka.ControllerEpoch(num(d, "controller", int(s.m.epoch))), Deleted: parts(arg(d, "deleted")), Failed: parts(arg(d, "failed"))}
		s.step(e)
	case "disk-failed":
		id := kafka.BrokerID(num(d, "broker", 0))
		s.step(LeaderAndISRDone{Broker: id, Epoch: s.epochOf(d, id), Controller: kafka.ControllerEpoch(num(d, "controller", int(s.m.epoch))), Failed: parts(arg(d, "partitions"))})
	case "shutdown":
		id := kafka.BrokerID(num(d, "broker", 0))
		epoch := s.zk.brokers[id].Epoch + kafka.BrokerEpoch(num(d, "epoch-off", 0))
		s.step(ControlledShutdown{Call: s.next(), Broker: id, Epoch: epoch})
	case "alter":
		s.step(s.alter(d))
	case "elect-leaders":
		s.step(ElectLeaders{Call: s.next(), Unclean: d.HasArg("unclean"), All: d.HasArg("all"), Partitions: parts(arg(d, "partitions"))})
	case "preferred-znode":
		s.zk.preferred, s.zk.preferredNext = parts(arg(d, "partitions")), parts(arg(d, "next"))
		s.zk.fire("preferred", PreferredElection{})
		s.drain()
	case "reassign": // t-0 1,2,3 on each line, or t-0 cancel
		e := AlterReassignments{Call: s.next()}
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			c := Reassign{Partition: parts(f[:1])[0]}
			if len(f) > 1 && f[1] == "cancel" {
				c.Cancel = true
			} else {
				c.Replicas = ids(f[1:])
			}
			e.Changes = append(e.Changes, c)
		}
		s.step(e)
	case "reassign-znode":
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			s.zk.reassign = append(s.zk.reassign, ReassignTarget{parts(f[:1])[0], ids(f[1:])})
		}
		s.zk.fire("reassign", ZnodeReassignment{})
		s.drain()
	case "reassignments":
		s.step(ListReassignments{Call: s.next(), All: !d.HasArg("partitions"), Partitions: parts(arg(d, "partitions"))})
	case "leader-writes": // a leader of an old protocol writes its ISR itself
		tp := parts(arg(d, "partition"))[0]
		st := s.zk.states[tp]
		st.Version++
		st.ISR = ids(arg(d, "isr"))
		s.zk.states[tp] = st
		if s.zk.watching[tp] {
			s.zk.events = append(s.zk.events, ReassignISRChanged{tp})
		}
		s.drain()
	case "rebalance":
		s.step(Rebalance{})
	case "producer-ids":
		id := kafka.BrokerID(num(d, "broker", 0))
		s.step(AllocateProducerIDs{Call: s.next(), Broker: id, Epoch: s.zk.brokers[id].Epoch})
	case "resync":
		s.step(Resync{Broker: kafka.BrokerID(num(d, "broker", 0))})
	case "abandon":
		s.step(Abandon{Call: s.call})
	case "znodes":
		s.znodes()
	case "context":
		s.context()
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
}

func (s *story) drain() {
	for len(s.zk.events) > 0 && !s.m.Waiting() {
		e := s.zk.events[0]
		s.zk.events = s.zk.events[1:]
		fmt.Fprintf(&s.out, "event %T%v\n", e, e)
		s.step(e)
	}
}

func (s *story) create(d *datadriven.TestData) Input {
	e := AdminCreateTopics{Call: s.next(), ValidateOnly: d.HasArg("validate")}
	for _, name := range arg(d, "topics") {
		n := NewTopic{Name: name, Partitions: int32(num(d, "partitions", -1)), Replication: int16(num(d, "rf", -1))}
		for i, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			if line == "" {
				break
			}
			if n.Assignment == nil {
				n.Assignment = map[int32][]kafka.BrokerID{}
			}
			n.Assignment[int32(i)] = ids(strings.Fields(line))
		}
		e.Topics = append(e.Topics, n)
	}
	return e
}

func (s *story) alter(d *datadriven.TestData) Input {
	broker := kafka.BrokerID(num(d, "broker", 0))
	tp := parts(arg(d, "partition"))[0]
	st := s.zk.states[tp]
	c := ISRChange{
		Topic: tp.Topic, Partition: tp.Partition, LeaderEpoch: st.LeaderEpoch + kafka.LeaderEpoch(num(d, "epoch-off", 0)),
		PartitionEpoch: st.Version + kafka.PartitionEpoch(num(d, "version-off", 0)), Recovery: kafka.LeaderRecoveryState(num(d, "recovery", 0)),
	}
	for _, id := range ids(arg(d, "isr")) {
		c.ISR = append(c.ISR, ISRMember{ID: id, Epoch: s.zk.brokers[id].Epoch + kafka.BrokerEpoch(num(d, "member-off", 0))})
	}
	return AlterPartition{Call: s.next(), Version: int16(num(d, "v", 3)), Broker: broker, Epoch: s.zk.brokers[broker].Epoch + kafka.BrokerEpoch(num(d, "broker-off", 0)), Changes: []ISRChange{c}}
}

func (s *story) znodes() {
	for _, tp := range slices.SortedFunc(maps.Keys(s.zk.states), kafka.TopicPartition.Compare) {
		fmt.Fprintf(&s.out, "%v %s v%d\n", tp, show(s.zk.states[tp]), s.zk.states[tp].Version)
	}
	for _, t := range slices.Sorted(maps.Keys(s.zk.topics)) {
		for _, n := range slices.Sorted(maps.Keys(s.zk.topics[t].Partitions)) {
			if a := s.zk.topics[t].Partitions[n]; a.Moving() {
				fmt.Fprintf(&s.out, "%s-%d replicas %s\n", t, n, assigned(a))
			}
		}
	}
	for _, t := range s.zk.reassign {
		fmt.Fprintf(&s.out, "to reassign: %v to %v\n", t.Partition, t.Replicas)
	}
	for _, t := range slices.Sorted(maps.Keys(s.zk.deletions)) {
		fmt.Fprintf(&s.out, "to delete: %s\n", t)
	}
}

func (s *story) context() {
	fmt.Fprintf(&s.out, "active %v epoch %d partitions %d\n", s.m.Active(), s.m.Epoch(), s.m.Partitions())
	for _, t := range s.m.ctx.allTopics() {
		for _, p := range t.parts {
			fmt.Fprintf(&s.out, "%v %v %s replicas", p.tp(), p.state, show(p.ls))
			for i, id := range p.replicas {
				fmt.Fprintf(&s.out, " %d:%v", id, p.states[i])
			}
			if t.queued {
				fmt.Fprintf(&s.out, " queued ineligible %v", t.ineligible)
			}
			fmt.Fprintln(&s.out)
		}
	}
}

package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// failures gathers what a transition could not do.
type failures struct {
	reasons map[*partition]string
}

func (f *failures) add(p *partition, format string, args ...any) {
	if f.reasons == nil {
		f.reasons = map[*partition]string{}
	}
	f.reasons[p] = fmt.Sprintf(format, args...)
}

// tell writes the first few failures to the log.
func (m *Machine) tell(what string, f *failures) {
	if len(f.reasons) == 0 {
		return
	}
	ps := slices.Collect(maps.Keys(f.reasons))
	m.ctx.sortPartitions(ps)
	for _, p := range ps[:min(len(ps), maxNotes)] {
		m.note("%s of %v failed: %s", what, p.tp(), f.reasons[p])
	}
	if n := len(ps) - maxNotes; n > 0 {
		m.note("%s failed for %d more partitions", what, n)
	}
}

// legal keeps the partitions that may take a transition.
func (m *Machine) legal(ps []*partition, to PartitionState, fails *failures) []*partition {
	ok := make([]*partition, 0, len(ps))
	for _, p := range ps {
		if p.state.mayBecome(to) {
			ok = append(ok, p)
		} else {
			fails.add(p, "it is %v", p.state)
		}
	}
	return ok
}

// movePartitions takes partitions, which are in order, to New, Offline or
// NonExistent: a matter of memory alone.
func (m *Machine) movePartitions(ps []*partition, to PartitionState) {
	var fails failures
	for _, p := range m.legal(ps, to, &fails) {
		m.ctx.setState(p, to)
	}
	m.tell("transition to "+to.String(), &fails)
}

// elect takes partitions, which are in order, to Online: New ones get their
// first leader and ISR, others a new leader by the strategy. It sends one
// batch of requests and gives those that failed.
func (m *Machine) elect(f *flow, ps []*partition, strategy metadata.ElectionStrategy, unclean bool) (*failures, error) {
	fails := &failures{}
	if len(ps) == 0 {
		return fails, nil
	}
	r := m.newRequests()
	var fresh, rest []*partition
	for _, p := range m.legal(ps, PartitionOnline, fails) {
		if p.state == PartitionNew {
			fresh = append(fresh, p)
		} else {
			rest = append(rest, p)
		}
	}
	if err := m.initialize(f, r, fresh, fails); err != nil {
		return nil, err
	}
	for try := 0; len(rest) > 0; try++ {
		if try == maxWriteTries {
			for _, p := range rest {
				fails.add(p, "its state znode changed %d times meanwhile", try)
			}
			break
		}
		var err error
		if rest, err = m.electOnce(f, r, rest, strategy, unclean, try > 0, fails); err != nil {
			return nil, err
		}
	}
	r.send()
	m.tell("election", fails)
	m.ready(ps)
	return fails, nil
}

// ready finishes calls that wait for the topics of ps.
func (m *Machine) ready(ps []*partition) {
	if len(m.calls.topics) == 0 {
		return
	}
	var last *topic
	for _, p := range ps {
		if p.topic != last {
			last = p.topic
			m.topicReady(last)
		}
	}
}

// initialize writes the first state of partitions: the first live replica
// leads, all live replicas are in sync.
func (m *Machine) initialize(f *flow, r *requests, ps []*partition, fails *failures) error {
	var b CreateStates
	var chosen []*partition
	for _, p := range ps {
		var live []kafka.BrokerID
		for _, id := range p.replicas {
			if m.ctx.isOnline(p, id) {
				live = append(live, id)
			}
		}
		if len(live) == 0 {
			fails.add(p, "none of its replicas %v is on a live broker", p.replicas)
			continue
		}
		if len(live) == len(p.replicas) {
			live = p.replicas
		}
		chosen = append(chosen, p)
		b.Writes = append(b.Writes, StateWrite{p.tp(), LeaderISR{Leader: live[0], ISR: live, ControllerEpoch: m.epoch}})
	}
	if len(chosen) == 0 {
		return nil
	}
	if err := f.do(&b); err != nil {
		return err
	}
	for i, p := range chosen {
		if res := b.Results[i]; res.Code != OK {
			fails.add(p, "create its state znode: %s", res)
			continue
		}
		p.ls, p.known = b.Writes[i].State, true
		p.ls.Version = b.Results[i].Version
		m.ctx.setState(p, PartitionOnline)
		r.leaderAndISR(p, p.ls.ISR, true)
	}
	return nil
}

// String gives the code or its text.
func (w WriteResult) String() string {
	if w.Text != "" {
		return w.Text
	}
	return [...]string{"ok", "version changed", "znode is missing", "znode exists", "failed"}[w.Code]
}

// readStates reads the state znodes of partitions.
func (m *Machine) readStates(f *flow, ps []*partition) ([]StateRead, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	b := &ReadStates{Partitions: make([]kafka.TopicPartition, len(ps))}
	for i, p := range ps {
		b.Partitions[i] = p.tp()
	}
	if err := f.do(b); err != nil {
		return nil, err
	}
	return b.Results, nil
}

// currentStates gives the states that the next conditional writes begin from:
// each znode is read anew, as Kafka does, or, with HeldStates, they are those
// that this controller holds. Then they are read where a write has just found
// another version, and always where leaders write ISRs too (before inter-broker
// protocol 2.7).
func (m *Machine) currentStates(f *flow, ps []*partition, again bool) ([]StateRead, error) {
	if again || !m.cfg.HeldStates || m.cfg.Protocol.LeadersWriteISR() {
		return m.readStates(f, ps)
	}
	states := make([]StateRead, len(ps))
	var unknown []*partition
	for i, p := range ps {
		states[i] = StateRead{Found: p.known, State: p.ls}
		if !p.known {
			unknown = append(unknown, p)
		}
	}
	reads, err := m.readStates(f, unknown)
	if err != nil {
		return nil, err
	}
	for i := range states {
		if !states[i].Found {
			states[i], reads = reads[0], reads[1:]
		}
	}
	return states, nil
}

// electOnce elects and writes once; it gives the partitions whose znodes had
// changed.
func (m *Machine) electOnce(f *flow, r *requests, ps []*partition, strategy metadata.ElectionStrategy, unclean, again bool, fails *failures) ([]*partition, error) {
	reads, err := m.currentStates(f, ps, again)
	if err != nil {
		return nil, err
	}
	allowed, err := m.uncleanTopics(f, ps, reads, strategy, unclean)
	if err != nil {
		return nil, err
	}
	var b WriteStates
	var chosen []*partition
	for i, p := range ps {
		read := &reads[i]
		switch {
		case !read.Found:
			fails.add(p, "its state znode is missing")
			continue
		case read.State.ControllerEpoch > m.epoch:
			fails.add(p, "controller epoch %d has written its state, this one is %d", read.State.ControllerEpoch, m.epoch)
			continue
		}
		won, ok := metadata.ElectLeader(strategy, m.ballot(p, &read.State, allowed))
		if !ok {
			fails.add(p, "no replica of %v may lead with ISR %v", p.replicas, read.State.ISR)
			continue
		}
		next := read.State
		next.Leader, next.ISR, next.ControllerEpoch = won.Leader, won.ISR, m.epoch
		next.LeaderEpoch++
		if won.Unclean && m.cfg.Protocol.LeaderRecovery() {
			next.Recovery = kafka.Recovering
		}
		chosen = append(chosen, p)
		b.Writes = append(b.Writes, StateWrite{p.tp(), next})
	}
	return m.writeStates(f, &b, chosen, fails, func(p *partition) {
		m.ctx.setState(p, PartitionOnline)
		r.leaderAndISR(p, m.recipients(p, strategy), false)
	})
}

func (m *Machine) ballot(p *partition, s *LeaderISR, allowed map[*topic]bool) metadata.Ballot {
	return metadata.Ballot{
		Replicas: p.replicas, Target: p.replicas, ISR: s.ISR,
		Live:         func(id kafka.BrokerID) bool { return m.ctx.isOnline(p, id) },
		ShuttingDown: m.ctx.isShuttingDown,
		Unclean:      allowed[p.topic],
	}
}

// recipients gives the replicas that are told of an election: the live ones,
// and in a controlled shutdown the leaving one too.
func (m *Machine) recipients(p *partition, strategy metadata.ElectionStrategy) []kafka.BrokerID {
	on := m.ctx.isOnline
	if strategy == metadata.ElectControlledShutdown {
		on = m.ctx.isUp
	}
	for i, id := range p.replicas {
		if on(p, id) {
			continue
		}
		ids := slices.Clone(p.replicas[:i])
		for _, id := range p.replicas[i+1:] {
			if on(p, id) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	return p.replicas
}

// uncleanTopics gives the topics that allow an unclean election among those
// of partitions that have no live replica in sync.
func (m *Machine) uncleanTopics(f *flow, ps []*partition, reads []StateRead, strategy metadata.ElectionStrategy, asked bool) (map[*topic]bool, error) {
	if strategy != metadata.ElectOffline {
		return nil, nil
	}
	b := &ReadConfigs{}
	var topics []*topic
	for i, p := range ps {
		inSync := slices.ContainsFunc(reads[i].State.ISR, func(id kafka.BrokerID) bool { return m.ctx.isOnline(p, id) })
		if inSync || len(topics) > 0 && topics[len(topics)-1] == p.topic {
			continue
		}
		topics = append(topics, p.topic)
		b.Topics = append(b.Topics, p.topic.name)
	}
	if len(topics) == 0 {
		return nil, nil
	}
	allowed := make(map[*topic]bool, len(topics))
	if !asked {
		if err := f.do(b); err != nil {
			return nil, err
		}
	}
	for i, t := range topics {
		allowed[t] = asked || m.uncleanAllowed(b.Configs[i])
	}
	return allowed, nil
}

func (m *Machine) uncleanAllowed(config map[string]string) bool {
	if v, ok := config[uncleanConfig]; ok {
		return strings.EqualFold(v, "true")
	}
	return m.ctx.unclean
}

// writeStates writes the states of chosen, calls done for each that was
// written, and gives those whose version had changed.
func (m *Machine) writeStates(f *flow, b *WriteStates, chosen []*partition, fails *failures, done func(*partition)) ([]*partition, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	if err := f.do(b); err != nil {
		return nil, err
	}
	var again []*partition
	for i, p := range chosen {
		switch res := b.Results[i]; res.Code {
		case OK:
			p.ls, p.known = b.Writes[i].State, true
			p.ls.Version = res.Version
			done(p)
		case BadVersion:
			again = append(again, p)
		default:
			fails.add(p, "write its state znode: %s", res)
		}
	}
	return again, nil
}

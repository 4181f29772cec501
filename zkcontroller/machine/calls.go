package machine

import (
	"iter"
	"maps"

	"kbench/kafka"
)

// waiting holds the calls that have no final reply yet. It is bounded by the
// shell, which bounds the requests it takes.
type waiting struct {
	refusals map[CallID]any
	topics   map[string][]*topicsCall // calls that wait for something of a topic
	byID     map[CallID]*topicsCall
}

// topicsCall is an admin request whose topics are done one by one.
type topicsCall struct {
	id      CallID
	reply   TopicsReply
	pending map[string]pendingTopic
}

// pendingTopic is what a call waits for: that the partitions of a topic up to
// count have leaders, or, with count 0, that its deletion has begun.
type pendingTopic struct {
	result int // index in the reply
	count  int32
}

func newWaiting() waiting {
	return waiting{map[CallID]any{}, map[string][]*topicsCall{}, map[CallID]*topicsCall{}}
}

func (w *waiting) open(id CallID, refusal any) { w.refusals[id] = refusal }

func (w *waiting) ids() iter.Seq[CallID] { return maps.Keys(w.refusals) }

func (w *waiting) refusal(id CallID) any { return w.refusals[id] }

// close ends a call; false says that it had ended before.
func (w *waiting) close(id CallID) bool {
	_, open := w.refusals[id]
	delete(w.refusals, id)
	if c := w.byID[id]; c != nil {
		delete(w.byID, id)
		for topic := range c.pending {
			w.drop(topic, c)
		}
	}
	return open
}

func (w *waiting) abandon(id CallID) { w.close(id) }

func (w *waiting) drop(topic string, c *topicsCall) {
	var rest []*topicsCall
	for _, o := range w.topics[topic] {
		if o != c {
			rest = append(rest, o)
		}
	}
	if len(rest) == 0 {
		delete(w.topics, topic)
		return
	}
	w.topics[topic] = rest
}

// wait registers c for its pending topics.
func (w *waiting) wait(c *topicsCall) {
	w.byID[c.id] = c
	for topic := range c.pending {
		w.topics[topic] = append(w.topics[topic], c)
	}
}

// settle gives a topics call its answer, or an interim one and registers it
// where something is pending.
func (m *Machine) settle(c *topicsCall) {
	if len(c.pending) == 0 {
		m.reply(c.id, c.reply, false)
		return
	}
	if _, open := m.calls.refusals[c.id]; !open {
		return // abandoned meanwhile
	}
	for _, p := range c.pending {
		r := &c.reply.Topics[p.result]
		r.Code, r.Text = kafka.RequestTimedOut, "The controller has accepted the request but brokers do not know its outcome yet."
	}
	m.emit(&Reply{Call: c.id, Body: TopicsReply{Topics: append([]TopicResult(nil), c.reply.Topics...)}})
	m.calls.wait(c)
}

// topicReady finishes the calls that wait for a topic whose partitions now
// have leaders.
func (m *Machine) topicReady(t *topic) {
	for _, c := range m.calls.topics[t.name] {
		if p := c.pending[t.name]; p.count > 0 && t.online(p.count) {
			m.topicDone(c, t.name, p, kafka.None, "")
		}
	}
}

// topicGone finishes the calls that wait for a topic's deletion; those that
// wait for its partitions never get them.
func (m *Machine) topicGone(name string) {
	for _, c := range m.calls.topics[name] {
		p := c.pending[name]
		if p.count == 0 {
			m.topicDone(c, name, p, kafka.None, "")
		} else {
			m.topicDone(c, name, p, kafka.UnknownTopicOrPartition, "The topic was deleted meanwhile.")
		}
	}
}

func (m *Machine) topicDone(c *topicsCall, name string, p pendingTopic, code kafka.ErrorCode, text string) {
	r := &c.reply.Topics[p.result]
	r.Code, r.Text = code, text
	delete(c.pending, name)
	m.calls.drop(name, c)
	if len(c.pending) == 0 {
		m.reply(c.id, c.reply, true)
	}
}

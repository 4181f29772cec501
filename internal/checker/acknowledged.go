package checker

import (
	"fmt"
	"slices"
	"strings"

	"kbench/kafka"
)

// expectation is what the operations on one topic leave behind.
type expectation struct {
	exists     belief
	id         kafka.UUID // zero: any
	partitions int32      // at least
	kind       Kind       // of the operation before
	atNs       int64      // when its answer came
}

// belief is what is known of a topic's existence.
type belief int

const (
	open belief = iota // an operation without an answer decides
	present
	absent
)

// acknowledged replays what clients were told onto what brokers serve.
func acknowledged(h History) Result {
	r := Result{Name: "acknowledged"}
	if !slices.ContainsFunc(h.Operations, func(op Operation) bool { return op.Outcome == Acknowledged }) {
		// Topics come from operations only: where brokers serve some, the
		// history of these was lost, and an empty one must not pass for them.
		for _, v := range h.Views {
			if len(v.Topics) > 0 {
				r.fault("broker %d serves %d topics and the history holds no acknowledged operation", v.Broker, len(v.Topics))
			}
		}
		if len(h.Operations) == 0 || len(r.Faults) > 0 {
			return r
		}
	}
	if h.Interrupted && len(h.Views) == 0 {
		r.Note = fmt.Sprintf("%d operations are not judged: the run was interrupted before it asked what brokers serve", len(h.Operations))
		return r
	}
	if len(h.Views) == 0 {
		r.fault("no broker's final metadata was read, so that %d operations cannot be judged", len(h.Operations))
		return r
	}
	names, expected := expect(h.Operations)
	for _, v := range h.Views {
		topics := byName(v)
		for _, name := range names {
			r.Looked++
			e := expected[name]
			t, found := topics[name]
			switch {
			case !found && e.exists == present:
				r.fault("topic %q was acknowledged and is missing on broker %d", name, v.Broker)
			case found && e.exists == absent:
				r.fault("topic %q was deleted and is back on broker %d", name, v.Broker)
			case !found || e.exists == open:
			case !e.id.IsZero() && t.ID != e.id:
				r.fault("topic %q was acknowledged with id %s and has id %s on broker %d", name, e.id, t.ID, v.Broker)
			case len(t.Partitions) < int(e.partitions):
				r.fault("topic %q was acknowledged with %d partitions and has %d on broker %d", name, e.partitions, len(t.Partitions), v.Broker)
			}
		}
	}
	return r
}

// expect folds operations into what must be there, topics in order of name.
func expect(ops []Operation) (names []string, out map[string]expectation) {
	out = make(map[string]expectation)
	for _, op := range ops {
		if op.Outcome == Refused || op.Kind == AlterConfig {
			continue
		}
		e, known := out[op.Topic]
		if !known {
			names = append(names, op.Topic)
			e.exists = absent
		}
		switch {
		case known && op.Kind != e.kind && op.SentNs != 0 && op.SentNs <= e.atNs:
			// They overlap: which came first is linearizable's to find.
			e = expectation{exists: open}
		case op.Outcome != Acknowledged:
			// It may happen late: nothing on this topic is sure any more.
			e = e.maybe(op)
		case op.Kind == DeleteTopic:
			e = expectation{exists: absent}
		case op.Kind == CreateTopic:
			e = expectation{exists: present, id: op.ID, partitions: op.Partitions}
		case op.Kind == CreatePartitions:
			e.exists, e.partitions = present, max(e.partitions, op.Partitions)
		}
		e.kind, e.atNs = op.Kind, max(e.atNs, op.AtNs)
		out[op.Topic] = e
	}
	slices.SortFunc(names, strings.Compare)
	return names, out
}

// maybe is what is known after an operation that had no answer.
func (e expectation) maybe(op Operation) expectation {
	switch {
	case op.Kind == CreateTopic && e.exists == present, op.Kind == CreatePartitions:
		return e // it adds at most
	case op.Kind == DeleteTopic && e.exists == absent:
		return e
	}
	return expectation{exists: open}
}

func byName(v View) map[string]*Topic {
	out := make(map[string]*Topic, len(v.Topics))
	for i := range v.Topics {
		out[v.Topics[i].Name] = &v.Topics[i]
	}
	return out
}

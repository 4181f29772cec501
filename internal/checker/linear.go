package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"kbench/kafka"
)

// linearWithin bounds the search of all topics together. What is not decided
// by then is a fault: a time-out is not a pass.
const linearWithin = 30 * time.Second

// linearizable searches, topic by topic, for an order of the operations in
// which each takes effect at one moment between its sending and its answer, every
// answer is what that order gives, and the final views are its end. It is
// decided by porcupine (Horn, Kroening: Faster linearizability checking via
// P-compositionality, 2015).
//
// An operation without an answer may take effect at any time after it was sent,
// or never. One whose sending was not recorded may have been sent at any time.
func linearizable(h History) Result {
	r := Result{Name: "linearizable"}
	byTopic := map[string][]porcupine.Operation{}
	var names []string
	end := int64(0)
	for _, op := range h.Operations {
		end = max(end, op.AtNs, op.SentNs)
		if byTopic[op.Topic] == nil {
			names = append(names, op.Topic)
		}
		byTopic[op.Topic] = append(byTopic[op.Topic], porcupine.Operation{
			Input: op, Output: finalRead{}, Call: op.SentNs, Return: op.returned(),
		})
	}
	slices.Sort(names)
	finals := finalReads(h.Views)
	until := time.Now().Add(linearWithin)
	for _, name := range names {
		ops := withoutRepeats(byTopic[name])
		r.Looked += int64(len(ops))
		for _, f := range finals.of(name) {
			ops = append(ops, porcupine.Operation{Input: Operation{}, Output: f, Call: end + 1, Return: math.MaxInt64})
		}
		left := max(time.Until(until), time.Millisecond) // 0 would be no bound
		switch porcupine.CheckOperationsTimeout(topicModel, ops, left) {
		case porcupine.Illegal:
			r.fault("topic %q: no order of its %d operations explains what clients were told and what brokers serve: %s", name, len(byTopic[name]), describeOperations(ops))
		case porcupine.Unknown:
			r.fault("topic %q: not decided within %v for all topics", name, linearWithin)
		}
	}
	return r
}

// returned is when an operation can have taken effect at the latest.
func (op Operation) returned() int64 {
	if op.Outcome == Unknown {
		return math.MaxInt64
	}
	return max(op.AtNs, op.SentNs)
}

// alreadyThere is a creation that was refused since the topic is there.
func (op Operation) alreadyThere() bool {
	return op.Kind == CreateTopic && op.Outcome == Refused && op.Code == kafka.TopicAlreadyExists
}

// withoutRepeats leaves out operations that can add nothing. Of those without an
// answer, of one kind, those sent first allow all that later ones do, and no more
// can matter than there are others to undo them, and one. Of creations that were
// refused since the topic was there, the first answer says it for all, and what was
// sent first may have made it whenever another may.
func withoutRepeats(ops []porcupine.Operation) []porcupine.Operation {
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	kinds := map[Kind]int{}
	for _, o := range ops {
		kinds[o.Input.(Operation).Kind]++
	}
	soonest := int64(math.MaxInt64)
	for _, o := range ops {
		if o.Input.(Operation).alreadyThere() {
			soonest = min(soonest, o.Return)
		}
	}
	refused, told := 0, 0
	undoing := map[Kind]int{CreateTopic: kinds[DeleteTopic], DeleteTopic: kinds[CreateTopic]}
	kept := map[Kind]int{}
	return slices.DeleteFunc(ops, func(o porcupine.Operation) bool {
		op := o.Input.(Operation)
		if op.alreadyThere() {
			if refused++; o.Return == soonest {
				told++
			}
			return refused > 1 && (o.Return != soonest || told > 1)
		}
		if op.Outcome != Unknown || op.Kind != CreateTopic && op.Kind != DeleteTopic {
			return false
		}
		kept[op.Kind]++
		return kept[op.Kind] > undoing[op.Kind]+1
	})
}

// topicState is one topic between operations. It is comparable.
type topicState struct {
	life       life
	id         kafka.UUID // zero: not told
	partitions int32      // 0: not told
	configs    string     // name=value lines, sorted
}

type life int

const (
	never   life = iota // no topic of the name was there
	alive               //
	deleted             // one was, and may be on its way out still
)

// finalRead is a topic as brokers serve it at the end; the zero value is the
// output of what is no read.
type finalRead struct {
	read, there bool
	id          kafka.UUID
	partitions  int32
	configs     string // of those that were altered
}

var topicModel = porcupine.Model{
	Init: func() any { return topicState{} },
	Step: func(state, input, output any) (bool, any) {
		s, f := state.(topicState), output.(finalRead)
		if f.read {
			return s.serves(f), s
		}
		return s.step(input.(Operation))
	},
}

// step gives whether an operation can have its answer in a state, and the state
// after it.
func (s topicState) step(op Operation) (bool, topicState) {
	sure := op.Outcome == Acknowledged
	switch {
	case op.alreadyThere() && s.life == never:
		// The request itself made it and was made once more on its way: by the broker
		// that forwards it, or the controller that asks ZooKeeper again.
		return true, topicState{life: alive}
	case op.Outcome == Refused:
		return s.refuses(op.Code), s
	}
	if sure && !s.allows(op) {
		return false, s
	}
	switch {
	case op.Kind == CreateTopic && s.life != alive:
		return true, topicState{life: alive, id: op.ID, partitions: op.Partitions}
	case op.Kind == CreateTopic && sure && s.id.IsZero(): // an earlier try had made it
		s.id = op.ID
	case op.Kind == DeleteTopic && s.life == alive:
		return true, topicState{life: deleted}
	case op.Kind == CreatePartitions && s.life == alive:
		s.partitions = max(s.partitions, op.Partitions)
	case op.Kind == AlterConfig && s.life == alive:
		s.configs = withConfig(s.configs, op.Config, op.Value)
	}
	return true, s
}

// allows reports whether an acknowledgement is right in the state. A deletion is
// acknowledged again while the topic is on its way out (Kafka's ZooKeeper mode
// lets a second caller wait for the first one's).
func (s topicState) allows(op Operation) bool {
	switch op.Kind {
	case CreateTopic:
		return s.life != alive
	case DeleteTopic:
		return s.life != never
	case CreatePartitions:
		return s.life == alive && op.Partitions > s.partitions
	}
	return s.life == alive
}

// refuses reports whether a refusal is right in the state. Kafka's ZooKeeper
// mode acknowledges a deletion when brokers have forgotten the topic, a little
// before its znode is gone, and refuses to create it meanwhile.
func (s topicState) refuses(code kafka.ErrorCode) bool {
	switch code {
	case kafka.TopicAlreadyExists:
		return s.life != never
	case kafka.UnknownTopicOrPartition, kafka.UnknownTopicID:
		return s.life != alive
	}
	return true // it says nothing of the topic
}

func (s topicState) serves(f finalRead) bool {
	if f.there != (s.life == alive) {
		return false
	}
	return !f.there ||
		(s.id.IsZero() || f.id.IsZero() || s.id == f.id) && f.partitions >= s.partitions && sameConfigs(s.configs, f.configs)
}

// sameConfigs: what was altered is as altered. Views without configurations say
// nothing of them.
func sameConfigs(want, have string) bool {
	if have == "" {
		return true
	}
	for line := range strings.Lines(want) {
		if !strings.Contains("\n"+have, "\n"+line) {
			return false
		}
	}
	return true
}

// withConfig sets one of the lines.
func withConfig(configs, name, value string) string {
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(configs)), func(l string) bool { return strings.HasPrefix(l, name+"=") })
	lines = append(lines, name+"="+value+"\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// finals are the topics of each view by name.
type finals []map[string]*Topic

func finalReads(views []View) finals {
	var out finals
	for _, v := range views {
		out = append(out, byName(v))
	}
	return out
}

// of gives what brokers serve of a topic, equal answers once.
func (fs finals) of(name string) []finalRead {
	var out []finalRead
	for _, view := range fs {
		f := finalRead{read: true}
		if t := view[name]; t != nil {
			f.there, f.id, f.partitions = true, t.ID, int32(len(t.Partitions))
			for _, c := range t.Configs {
				f.configs = withConfig(f.configs, c.Name, c.Value)
			}
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// maxDescribed bounds the operations that a fault spells out.
const maxDescribed = 8

// describeOperations lists the last operations and the reads of one topic.
func describeOperations(ops []porcupine.Operation) string {
	var words []string
	for _, o := range ops[max(0, len(ops)-maxDescribed):] {
		if f := o.Output.(finalRead); f.read {
			words = append(words, f.String())
			continue
		}
		words = append(words, o.Input.(Operation).String())
	}
	return strings.Join(words, "; ")
}

// String is the read in a few words.
func (f finalRead) String() string {
	if !f.there {
		return "at the end it is missing"
	}
	return strings.TrimSpace(fmt.Sprintf("at the end it has id %s and %d partitions %s", f.id, f.partitions, strings.ReplaceAll(f.configs, "\n", " ")))
}

// String is the operation in a few words.
func (op Operation) String() string {
	s := string(op.Kind)
	if op.Partitions > 0 {
		s += fmt.Sprintf(" of %d partitions", op.Partitions)
	}
	if op.Config != "" {
		s += fmt.Sprintf(" %s=%s", op.Config, op.Value)
	}
	s += " " + string(op.Outcome)
	if op.Outcome == Refused {
		s += " " + op.Code.String()
	}
	return fmt.Sprintf("%s (%.3f to %.3f s)", s, float64(op.SentNs)/1e9, float64(op.AtNs)/1e9)
}

package checker

import (
	"fmt"
	"strings"
	"testing"

	"kbench/kafka"
)

// story is a history of one topic, "t", from lines such as
//
//	1-3 create acked id=1 partitions=2
//	2- delete unknown
//	4-5 create refused TOPIC_ALREADY_EXISTS
//	end id=1 partitions=2
//	end missing
func story(t *testing.T, lines string) History {
	t.Helper()
	var h History
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		words := strings.Fields(line)
		if words[0] == "end" {
			h.Views = append(h.Views, endView(t, len(h.Views)+1, words[1:]))
			continue
		}
		op := Operation{Topic: "t", Kind: map[string]Kind{
			"create": CreateTopic, "delete": DeleteTopic, "grow": CreatePartitions, "alter": AlterConfig,
		}[words[1]], Outcome: Outcome(words[2])}
		_, _ = fmt.Sscanf(words[0], "%d-%d", &op.SentNs, &op.AtNs)
		for _, w := range words[3:] {
			switch key, value, _ := strings.Cut(w, "="); key {
			case "id":
				_, _ = fmt.Sscan(value, &op.ID[15])
			case "partitions":
				_, _ = fmt.Sscan(value, &op.Partitions)
			case "TOPIC_ALREADY_EXISTS":
				op.Code = kafka.TopicAlreadyExists
			case "UNKNOWN_TOPIC_OR_PARTITION":
				op.Code = kafka.UnknownTopicOrPartition
			default:
				op.Config, op.Value = key, value
			}
		}
		h.Operations = append(h.Operations, op)
	}
	return h
}

func endView(t *testing.T, broker int, words []string) View {
	v := View{Broker: kafka.BrokerID(broker)}
	if words[0] == "missing" {
		return v
	}
	topic := Topic{Name: "t"}
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "id":
			_, _ = fmt.Sscan(value, &topic.ID[15])
		case "partitions":
			n := 0
			_, _ = fmt.Sscan(value, &n)
			topic.Partitions = make([]Partition, n)
		default:
			topic.Configs = append(topic.Configs, Config{Name: key, Value: value})
		}
	}
	v.Topics = []Topic{topic}
	return v
}

func TestLinearizable(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		says  string // in the fault; "" for none
	}{
		"one after the other": {`
1-2 create acked id=1 partitions=1
3-4 grow acked partitions=3
5-6 alter acked retention.ms=5
7-8 delete acked
9-10 create acked id=2 partitions=1
end id=2 partitions=1`, ""},
		"side by side, in the other order": {`
1-9 delete acked
2-3 create acked id=1 partitions=1
end missing`, ""},
		"no order of a deletion before the creation was sent": {`
1-2 delete acked
3-4 create acked id=1 partitions=1
end id=1 partitions=1`, "no order of its 2 operations"},
		"created twice": {`
1-2 create acked id=1 partitions=1
3-4 create acked id=2 partitions=1
end id=2 partitions=1`, "create-topic of 1 partitions acked"},
		"created twice, once by a try without an answer": {`
1-2 create unknown partitions=1
3-4 create acked id=1 partitions=1
end id=1 partitions=1`, ""},
		"an acknowledged creation is lost": {`
1-2 create acked id=1 partitions=1
end missing`, "at the end it is missing"},
		"an acknowledged deletion is lost": {`
1-2 create acked id=1 partitions=1
3-4 delete acked
end id=1 partitions=1`, "no order"},
		"a deletion without an answer explains it": {`
1-2 create acked id=1 partitions=1
3-4 delete unknown
end missing`, ""},
		"one sent later does not explain what is there": {`
1-2 create acked id=1 partitions=1
5-6 create refused TOPIC_ALREADY_EXISTS
7-8 delete unknown
end id=2 partitions=1`, "no order"},
		"refused although it was never there": {`
1-2 create refused TOPIC_ALREADY_EXISTS
3-4 create acked id=1 partitions=1
end id=1 partitions=1`, "refused TOPIC_ALREADY_EXISTS"},
		"refused since an earlier try without an answer had made it, and lost": {`
1-2 create unknown partitions=1
3-4 create refused TOPIC_ALREADY_EXISTS
end missing`, "at the end it is missing"},
		"refused since it made it itself": {`
1-2 create refused TOPIC_ALREADY_EXISTS
end id=1 partitions=1`, ""},
		"refused while it goes": {`
1-2 create acked id=1 partitions=1
3-4 delete acked
5-6 create refused TOPIC_ALREADY_EXISTS
end missing`, ""},
		"not found although it was acknowledged": {`
1-2 create acked id=1 partitions=1
3-4 delete refused UNKNOWN_TOPIC_OR_PARTITION
5-6 delete acked
end missing`, "UNKNOWN_TOPIC_OR_PARTITION"},
		"partitions are lost": {`
1-2 create acked id=1 partitions=1
3-4 grow acked partitions=3
end id=1 partitions=1`, "and 1 partitions"},
		"grown to fewer": {`
1-2 create acked id=1 partitions=3
3-4 grow acked partitions=2
end id=1 partitions=3`, "no order"},
		"a configuration is as the last change left it": {`
1-2 create acked id=1 partitions=1
3-4 alter acked retention.ms=5
5-6 alter acked retention.ms=6
end id=1 partitions=1 retention.ms=6`, ""},
		"an acknowledged configuration is lost": {`
1-2 create acked id=1 partitions=1
3-4 alter acked retention.ms=5
5-6 alter acked retention.ms=6
end id=1 partitions=1 retention.ms=5`, "retention.ms=5"},
		"of two changes at once either may be last": {`
1-2 create acked id=1 partitions=1
3-9 alter acked retention.ms=5
4-8 alter acked retention.ms=6
end id=1 partitions=1 retention.ms=5`, ""},
		"brokers that end apart": {`
1-2 create acked id=1 partitions=1
3-4 delete unknown
end missing
end id=1 partitions=1`, ""}, // a deletion on its way; equal-images finds it
		"brokers that end apart without a cause": {`
1-2 create acked id=1 partitions=1
end missing
end id=1 partitions=1`, "at the end it is missing"},
		"times that were not recorded": {`
0-4 create acked id=1 partitions=1
0-2 delete acked
end missing`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := story(t, c.story)
			r := linearizable(h)
			if r.Looked == 0 {
				t.Error("it looked at nothing")
			}
			if all := strings.Join(r.Faults, "; "); c.says == "" && all != "" || c.says != "" && !strings.Contains(all, c.says) {
				t.Errorf("got %q, want %q", all, c.says)
			}
		})
	}
}

// So it does of refusals.
func TestManyRefusals(t *testing.T) {
	for _, lost := range []bool{false, true} {
		var h History
		for i := range int64(300) { // all under way at once
			h.Operations = append(h.Operations, Operation{Kind: CreateTopic, Topic: "t", Partitions: 1, Outcome: Refused, Code: kafka.TopicAlreadyExists, SentNs: i + 1, AtNs: 10_000 - i})
		}
		h.Operations = append(h.Operations, Operation{Kind: CreateTopic, Topic: "t", ID: id(1), Partitions: 1, Outcome: Acknowledged, SentNs: 200, AtNs: 20_000})
		h.Views = []View{{Broker: 1, Topics: []Topic{{Name: "t", ID: id(1), Partitions: make([]Partition, 1)}}}}
		if lost {
			h.Views[0].Topics = nil
		}
		if r := linearizable(h); r.OK() == lost || lost && !strings.Contains(r.Faults[0], "no order of its 301 operations") {
			t.Errorf("lost %t: %q", lost, r.Faults)
		}
	}
}

// A stream that asked again and again through an outage leaves many creations
// without an answer: they must not make the search endless.
func TestManyWithoutAnAnswer(t *testing.T) {
	var h History
	for i := range 5_000 {
		h.Operations = append(h.Operations, Operation{Kind: CreateTopic, Topic: "t", Partitions: 1, Outcome: Unknown, SentNs: int64(i + 1), AtNs: 10_000})
	}
	h.Operations = append(h.Operations, Operation{Kind: CreateTopic, Topic: "t", ID: id(1), Partitions: 1, Outcome: Acknowledged, SentNs: 5_500, AtNs: 6_000})
	h.Views = []View{{Broker: 1}}
	r := linearizable(h)
	if len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "no order of its 5001 operations") {
		t.Errorf("a lost topic among them: %q", r.Faults)
	}
	h.Views[0].Topics = []Topic{{Name: "t", ID: id(1), Partitions: make([]Partition, 1)}}
	if r := linearizable(h); !r.OK() {
		t.Errorf("%q", r.Faults)
	}
}

// BenchmarkLinearizable judges as many operations as the harness keeps.
func BenchmarkLinearizable(b *testing.B) {
	var h History
	v := View{Broker: 1}
	for i := range 300_000 {
		name := fmt.Sprint("kbench-", i)
		h.Operations = append(h.Operations, Operation{Kind: CreateTopic, Topic: name, Partitions: 1, Outcome: Acknowledged, SentNs: int64(i), AtNs: int64(i) + 100})
		v.Topics = append(v.Topics, Topic{Name: name, Partitions: make([]Partition, 1)})
	}
	h.Views = []View{v, v, v}
	b.ReportAllocs()
	for b.Loop() {
		if r := linearizable(h); !r.OK() {
			b.Fatal(r.Faults)
		}
	}
}

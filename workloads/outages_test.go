package workloads

import (
	"testing"

	"kbench/kafka"
)

// An outage ends with what shows its end: the first acknowledgement of a later
// produce, unless it is of the broker that refused, from before it did.
func TestOutageEnds(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "t"}
	refused := failure{intendedNs: 10, by: 1, refusedNs: 30}
	silent := failure{intendedNs: 10, by: 1}
	for name, c := range map[string]struct {
		failed []failure
		acks   []acks
		wantNs int64 // 0 for no end
	}{
		"by the new leader":                    {[]failure{refused}, []acks{{15, 50, 2}, {20, 60, 2}}, 40},
		"before the old leader refused":        {[]failure{refused}, []acks{{15, 20, 1}, {40, 55, 2}}, 45},
		"by the old leader after it refused":   {[]failure{refused}, []acks{{15, 20, 1}, {35, 40, 1}}, 30},
		"by the new leader before the refusal": {[]failure{refused}, []acks{{15, 20, 2}}, 10},
		"after a lost answer":                  {[]failure{silent}, []acks{{15, 20, 1}}, 10},
		"of an earlier produce":                {[]failure{refused}, []acks{{5, 50, 2}}, 0},
		"none":                                 {[]failure{refused}, nil, 0},
		"of the first failure":                 {[]failure{{intendedNs: 20, by: 1, refusedNs: 25}, refused}, []acks{{30, 70, 2}}, 60},
	} {
		b := newOutageBook([]kafka.TopicPartition{tp}, 8)
		b.begin(1)
		for _, f := range c.failed {
			b.failed(tp, f)
		}
		for _, a := range c.acks {
			b.acked(tp, a)
		}
		got := b.outages()
		if len(got) != 1 || got[0].ended != (c.wantNs != 0) || got[0].ns != c.wantNs {
			t.Errorf("%s: %+v, want %d ns", name, got, c.wantNs)
		}
	}
}

// What is kept of the acknowledgements is bounded, and holds the one that ends
// the outage however many came before.
func TestOutageEndsAfterManyAcknowledgements(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "t"}
	for before := range int64(20) {
		b := newOutageBook([]kafka.TopicPartition{tp}, 8)
		b.begin(1)
		for n := range before {
			b.acked(tp, acks{10 + n, 11 + n, 1})
		}
		b.failed(tp, failure{intendedNs: 100, by: 1, refusedNs: 101})
		for n := range int64(20) {
			b.acked(tp, acks{110 + n, 150 + n, 2})
		}
		if got := b.outages(); len(got) != 1 || !got[0].ended || got[0].ns != 50 {
			t.Errorf("after %d: %+v", before, got)
		}
		if n := len(b.states[tp].acks); n > 8 {
			t.Errorf("%d are kept", n)
		}
	}
}

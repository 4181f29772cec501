package zkcluster

import (
	"testing"

	"kbench/internal/checker"
	"kbench/kafka"
)

// TestRestWaitsForAnswers asks for a deletion whose answer never comes: what the
// cluster holds may not be judged before the client has given up, for until then
// the history does not know of the deletion.
func TestRestWaitsForAnswers(t *testing.T) {
	w := newWorld(Options{Seed: 1})
	defer w.end()
	for range 500 {
		w.step()
	}
	w.settle()
	if w.judge.violation != nil || w.missing() != nil {
		t.Fatalf("not at rest before the deletion: %v, %v", w.judge.violation, w.missing())
	}
	made := &topic{name: "made", there: true}
	w.admin.topics[made.name] = made
	w.admin.record(checker.Operation{Kind: checker.CreateTopic, Topic: made.name, Partitions: 1, Outcome: checker.Acknowledged})
	to := w.controller()
	w.cut[[2]kafka.BrokerID{0, to.id}] = true
	w.admin.delete(to, made)
	asked := w.now
	for w.now < asked+w.p.callTimeout {
		if m := w.missing(); m == nil || m.Invariant != "acknowledged" {
			t.Fatalf("%v after the deletion was asked for, without an answer: missing is %v", w.now-asked, m)
		}
		w.step()
	}
	if m := w.missing(); m != nil {
		t.Fatalf("after the client has given up: %v", m)
	}
	if w.judge.acknowledged(); w.judge.violation != nil {
		t.Fatalf("the topic counts as lost: %v", w.judge.violation)
	}
}

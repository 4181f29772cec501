package raftclient

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

func TestTalkCountsRoundTrips(t *testing.T) {
	var talk Talk
	talk.Heard(5) // it was asked first
	talk.Sent(10)
	talk.Sent(10)
	talk.Heard(100)
	talk.Heard(100)
	talk.Sent(10)
	talk.Heard(1)
	sum, before := talk.soFar()
	if want := (Traffic{Messages: 7, Bytes: 236, RoundTrips: 2}); sum != want {
		t.Errorf("counted %+v, want %+v", sum, want)
	}
	if want := (Traffic{Messages: 6, Bytes: 235, RoundTrips: 1}); before != want {
		t.Errorf("before the last message %+v, want %+v", before, want)
	}
}

func TestSizeOfAFetchIsThatOfItsBytes(t *testing.T) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 17
	part := kmsg.NewFetchResponseTopicPartition()
	part.RecordBatches = make([]byte, 5000)
	topic := kmsg.NewFetchResponseTopic()
	topic.Partitions = append(topic.Partitions, part)
	resp.Topics = append(resp.Topics, topic)
	got, want := sizeOf(resp), len(resp.AppendTo(nil))
	if got < want-4 || got > want || len(resp.Topics[0].Partitions[0].RecordBatches) != 5000 { // the length of the records is a varint
		t.Errorf("size %d, %d bytes are written", got, want)
	}
}

// The trace tells how a voter that has diverged comes to agree: it hears of the
// leader, truncates what it alone had, and has all that the others have.
func TestTraceOfAReconciliation(t *testing.T) {
	dir, files := t.TempDir(), map[kafka.BrokerID]string{}
	q := newQuorum(t, 3, func(c *Config) {
		path := filepath.Join(dir, fmt.Sprint(c.NodeID))
		w, err := trace.Create(path, fmt.Sprintf("controller-%d", c.NodeID))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		files[c.NodeID], c.Trace = path, w
	})
	observer := q.start(99)
	old, at := q.leader()
	if err := old.write(at.Epoch, "a"); err != nil {
		t.Fatal(err)
	}
	q.awaitAll([]string{"a"})
	if tr := observer.client.Traffic(); tr != (Traffic{}) {
		t.Errorf("an observer counts %+v", tr)
	}
	observer.kill()
	for _, v := range q.voters {
		if v.ID != at.Leader {
			q.nodes[v.ID].kill()
		}
	}
	end := old.client.LogEndOffset()
	if _, err := old.client.Append(at.Epoch, [][]byte{[]byte("lost")}); err != nil {
		t.Fatal(err)
	}
	await(t, "the lone leader to write", func() bool { return old.client.LogEndOffset() > end || old.client.Role().State != raft.Leader })
	old.kill()
	for _, v := range q.voters {
		if v.ID != at.Leader {
			q.start(v.ID)
		}
	}
	next, at2 := q.leader()
	if err := next.write(at2.Epoch, "b"); err != nil {
		t.Fatal(err)
	}
	back := q.start(at.Leader)
	q.awaitAll([]string{"a", "b"})
	var follows, truncated, durable trace.Event
	await(t, "the trace to tell it", func() bool {
		for _, e := range readTrace(t, files[back.cfg.NodeID]) {
			switch {
			case e.Kind == trace.QuorumFollows && e.Epoch >= int64(at2.Epoch):
				follows = e
			case e.Kind == trace.QuorumTruncated:
				truncated = e
			case e.Kind == trace.QuorumDurable && truncated.T != 0:
				durable = e
			}
		}
		return durable.T != 0
	})
	if truncated.N != 1 || truncated.Offset != int64(end) || follows.T > truncated.T || durable.T < truncated.T {
		t.Errorf("follows %+v, truncated %+v, durable %+v", follows, truncated, durable)
	}
	// The first request may be sent when it follows, or before.
	if durable.RoundTrips <= follows.RoundTrips || durable.Messages < follows.Messages+3 || durable.Bytes <= follows.Bytes {
		t.Errorf("from %+v to %+v in no round trip, though it asks twice", follows, durable)
	}
}

func readTrace(t *testing.T, path string) []trace.Event {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

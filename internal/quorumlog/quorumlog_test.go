package quorumlog

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// quorum is three logs that are written batch by batch.
type quorum struct {
	t    testing.TB
	dir  string
	logs [3]*metalog.Log

	stopped bool // the first voter is
	traced  []trace.Event
}

var all = []int{0, 1, 2}

func newQuorum(t testing.TB) *quorum {
	q := &quorum{t: t, dir: t.TempDir()}
	for i := range q.logs {
		l, err := metalog.Open(metalog.Config{FS: metalog.OS(), Dir: q.voters()[i].Dir, SegmentBytes: 400, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		q.logs[i] = l
		t.Cleanup(func() { _ = l.Close() })
	}
	return q
}

func (q *quorum) voters() []Voter {
	var out []Voter
	for i, name := range []string{"a", "b", "c"} {
		out = append(out, Voter{ID: kafka.BrokerID(1001 + i), Dir: filepath.Join(q.dir, name), Stopped: q.stopped && i == 0})
	}
	return out
}

// write appends a batch to some of the logs; all must end at one offset.
func (q *quorum) write(on []int, epoch kafka.LeaderEpoch, control bool, records ...metalog.Record) {
	q.t.Helper()
	for _, i := range on {
		raw, err := metalog.Batch{BaseOffset: q.logs[i].EndOffset(), Epoch: epoch, Control: control, Records: records}.Append(nil)
		if err == nil {
			err = q.logs[i].Append(raw)
		}
		if err != nil {
			q.t.Fatal(err)
		}
	}
}

// lead opens an epoch; granted is how many of the voters, the three where none are
// named, vote for the leader.
func (q *quorum) lead(on []int, epoch kafka.LeaderEpoch, leader kafka.BrokerID, granted int, voters ...kafka.BrokerID) {
	if len(voters) == 0 {
		voters = []kafka.BrokerID{1001, 1002, 1003}
	}
	m := metalog.LeaderChange{Leader: leader}
	for _, id := range voters {
		m.Voters = append(m.Voters, metalog.VoterKey{ID: id})
	}
	m.GrantingVoters = m.Voters[:granted]
	q.write(on, epoch, true, m.Record())
}

// vote makes these the voters, in all logs.
func (q *quorum) vote(ids ...kafka.BrokerID) {
	var set metalog.Voters
	for _, id := range ids {
		set.Voters = append(set.Voters, metalog.Voter{VoterKey: metalog.VoterKey{ID: id}})
	}
	q.write(all, q.logs[0].LastEpoch(), true, set.Record())
}

// late has a voter lose its log and come back by the snapshot of offset 3.
func (q *quorum) late(i int) {
	q.t.Helper()
	id, from := metalog.SnapshotID{EndOffset: 3, Epoch: 1}, q.logs[(i+1)%len(q.logs)]
	q.snapshot(i, id, register(1, 1), register(2, 2))
	err := q.logs[i].TruncateFullyTo(id)
	for at := id.EndOffset; err == nil && at < from.EndOffset(); at = q.logs[i].EndOffset() {
		var raw []byte
		if raw, err = from.Read(at, 1); err == nil {
			err = q.logs[i].Append(raw)
		}
	}
	if err != nil {
		q.t.Fatal(err)
	}
}

func (q *quorum) records(on []int, epoch kafka.LeaderEpoch, records ...metadata.Record) {
	var out []metalog.Record
	for _, r := range records {
		value, err := metadata.AppendRecord(nil, r, metadata.V4_0_IV3.RecordVersion(r))
		if err != nil {
			q.t.Fatal(err)
		}
		out = append(out, metalog.Record{Value: value})
	}
	q.write(on, epoch, false, out...)
}

// next is the epoch that a broker gets whose registration is the next record.
func (q *quorum) next() kafka.BrokerEpoch { return kafka.BrokerEpoch(q.logs[0].EndOffset()) }

// snapshot has a voter take one of what it holds, made of records.
func (q *quorum) snapshot(on int, id metalog.SnapshotID, records ...metadata.Record) {
	w, err := q.logs[on].NewSnapshot(id, 0, metalog.Quorum{})
	if err != nil {
		q.t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for _, r := range records {
		value, err := metadata.AppendRecord(nil, r, 0)
		if err == nil {
			err = w.Append(value)
		}
		if err != nil {
			q.t.Fatal(err)
		}
	}
	if err := w.Freeze(); err != nil {
		q.t.Fatal(err)
	}
}

var (
	topicID   = kafka.UUID{7}
	newTopic  = &metadata.TopicRecord{Name: "t", TopicID: topicID}
	partition = &metadata.PartitionRecord{
		TopicID: topicID, Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1, 2}, Leader: 1, LeaderEpoch: 0, PartitionEpoch: 0,
	}
)

func register(id kafka.BrokerID, epoch kafka.BrokerEpoch) *metadata.RegisterBrokerRecord {
	return &metadata.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: epoch, IncarnationID: kafka.UUID{byte(id)}}
}

func moved(leader kafka.BrokerID, isr ...kafka.BrokerID) *metadata.PartitionChangeRecord {
	c := metadata.NewPartitionChange(topicID, 0)
	c.Leader, c.ISR = leader, isr
	return c
}

// inDirectories has the partition in directories 1 and 2 of brokers 1 and 2, and
// broker 2, which leads it, keep those that are given.
func inDirectories(q *quorum, kept ...byte) {
	a, b := register(1, q.next()), register(2, q.next()+1)
	a.LogDirs, b.LogDirs = []kafka.UUID{{1}}, []kafka.UUID{{2}, {3}}
	c := metadata.NewPartitionChange(topicID, 0)
	c.Directories = []kafka.UUID{{1}, {2}}
	q.records(all, 3, a, b, c)
	change := &metadata.BrokerRegistrationChangeRecord{BrokerID: 2, BrokerEpoch: b.BrokerEpoch}
	for _, d := range kept {
		change.LogDirs = append(change.LogDirs, kafka.UUID{d})
	}
	q.records(all, 3, change)
	q.records(all, 3, &metadata.NoOpRecord{})
}

// leaves has broker 2, which leads, begin its controlled shutdown.
func leaves(q *quorum) {
	q.records(all, 3, &metadata.BrokerRegistrationChangeRecord{BrokerID: 2, BrokerEpoch: 2, InControlledShutdown: 1})
}

// grant has a controller tell a broker that it may stop, now.
func grant(q *quorum, broker int32) {
	q.traced = append(q.traced, trace.Event{Kind: trace.ControllerShutdownGranted, Epoch: 3, Broker: broker, Offset: int64(q.next() - 1)})
}

// acked has the leader of the partition hear of a state.
func acked(q *quorum, leader kafka.BrokerID, leaderEpoch, partitionEpoch int64, isr ...kafka.BrokerID) {
	q.traced = append(q.traced, trace.Event{
		Kind: trace.BrokerISRAcknowledged, Topic: "t", TopicID: topicID.String(), Broker: int32(leader),
		Epoch: leaderEpoch, N: partitionEpoch, ISR: trace.IDs(isr),
	})
}

// unclean makes a replica lead that is not in sync.
func unclean(q *quorum) {
	c := moved(1, 1)
	c.LeaderRecoveryState = kafka.Recovering
	q.records(all, 3, register(1, q.next()), c)
}

// allow sets a configuration of the topic, or of the cluster where that is "".
func allow(q *quorum, topic, name, value string) {
	r := &metadata.ConfigRecord{ResourceType: metadata.TopicConfig, ResourceName: topic, Name: name, Value: &value}
	if topic == "" {
		r.ResourceType = metadata.BrokerConfig
	}
	q.records(all, 3, r)
}

const uncleanConfig, minISRConfig = "unclean.leader.election.enable", "min.insync.replicas"

// reassign has brokers 1 to 4 hold the partition, in sync as given, and moves it
// from broker 2 to broker 3, which ends with the replicas and the ISR given.
func reassign(q *quorum, isr, replicas, left []kafka.BrokerID) {
	q.records(all, 3, register(1, q.next()), register(3, q.next()+1), register(4, q.next()+2))
	begin := moved(2, isr...)
	begin.Leader = metadata.LeaderUnchanged
	begin.Replicas, begin.AddingReplicas, begin.RemovingReplicas = []kafka.BrokerID{1, 3, 4, 2}, []kafka.BrokerID{3, 4}, []kafka.BrokerID{2}
	q.records(all, 3, begin)
	end := moved(left[0], left...)
	end.Replicas, end.AddingReplicas, end.RemovingReplicas = replicas, []kafka.BrokerID{}, []kafka.BrokerID{}
	q.records(all, 3, end)
}

// play writes what a small quorum does: two brokers register, a topic is made,
// its leader stops, and another controller takes over.
func play(t testing.TB) *quorum {
	q := newQuorum(t)
	q.lead(all, 1, 1001, 2)
	q.records(all, 1, register(1, 1), register(2, 2)) // offsets 1, 2
	q.records(all, 1, newTopic, partition)            // 3, 4
	q.lead(all, 3, 1002, 3)                           // 5
	q.records(all, 3, &metadata.FenceBrokerRecord{ID: 1, Epoch: 1}, moved(2, 2))
	return q // 8 is next
}

func (q *quorum) store() []byte {
	var buf bytes.Buffer
	if err := Store(&buf, q.voters(), q.traced); err != nil {
		q.t.Fatal(err)
	}
	return buf.Bytes()
}

func judged(t *testing.T, file []byte) (looked int64, faults string) {
	t.Helper()
	r, err := Judge(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != ResultName {
		t.Errorf("the check is named %q", r.Name)
	}
	return r.Looked, strings.Join(r.Faults, "\n")
}

func TestSoundLogs(t *testing.T) {
	for name, more := range map[string]func(q *quorum){
		"a voter stopped with what was deposed": func(q *quorum) {
			q.records([]int{0}, 3, &metadata.NoOpRecord{})
			q.lead([]int{1, 2}, 4, 1002, 2)
			q.stopped = true
		},
		"equal":                               func(*quorum) {},
		"a log that does not say who leads":   func(q *quorum) { q.write(all, 4, true, metalog.LeaderChange{Leader: kafka.NoLeader}.Record()) },
		"one voter is behind":                 func(q *quorum) { q.records([]int{0, 1}, 3, &metadata.NoOpRecord{}) },
		"what only the leader has":            func(q *quorum) { q.records([]int{1}, 3, &metadata.NoOpRecord{}) },
		"what a leader that was deposed kept": func(q *quorum) { q.records([]int{0}, 3, &metadata.NoOpRecord{}); q.lead([]int{1}, 4, 1002, 2) },
		"a snapshot": func(q *quorum) {
			q.snapshot(2, metalog.SnapshotID{EndOffset: 3, Epoch: 1}, register(1, 1), register(2, 2))
		},
		"an aborted transaction left no trace": abortedTransaction,
		"voters that come and go": func(q *quorum) {
			q.vote(1001, 1002, 1003) // as kraft.version is raised
			q.vote(1001, 1002)
			q.lead(all, 4, 1002, 2, 1001, 1002)
			q.vote(1001, 1002, 1003)
		},
		"a directory fails that holds no leader": func(q *quorum) { inDirectories(q, 2) },
		"a leader shuts down": func(q *quorum) {
			leaves(q)
			q.records(all, 3, moved(kafka.NoLeader))
			q.records(all, 3, &metadata.NoOpRecord{})
		},
		"a controller is deposed while a leader shuts down": func(q *quorum) {
			leaves(q)
			q.lead(all, 4, 1002, 2)
			q.records(all, 4, &metadata.NoOpRecord{})
		},
		"a topic that may have an unclean leader":   func(q *quorum) { allow(q, "t", uncleanConfig, "true"); unclean(q) },
		"a cluster that may have an unclean leader": func(q *quorum) { allow(q, "", uncleanConfig, "true"); unclean(q) },
		"a reassignment": func(q *quorum) {
			allow(q, "t", minISRConfig, "2")
			reassign(q, []kafka.BrokerID{2}, []kafka.BrokerID{1, 3, 4}, []kafka.BrokerID{3, 4})
		},
		"a reassignment is cancelled": func(q *quorum) {
			reassign(q, []kafka.BrokerID{2, 3}, []kafka.BrokerID{1, 2}, []kafka.BrokerID{2})
		},
		"a shutdown that is granted": func(q *quorum) {
			grant(q, 1)
			leaves(q)
			q.records(all, 3, moved(kafka.NoLeader), &metadata.FenceBrokerRecord{ID: 2, Epoch: 2})
			grant(q, 2)
			q.records(all, 3, register(2, q.next()), moved(2, 2)) // it is back
			grant(q, 9)                                           // of whom nothing is known
		},
		"acknowledged ISRs": func(q *quorum) {
			acked(q, 2, 1, 1, 2)
			acked(q, 1, 0, 0, 2, 1)
			q.traced[len(q.traced)-1].TopicID = kafka.UUID{8}.String() // of which nothing is known
			acked(q, 1, 0, 0, 2, 1)
		},
		"a leader that removes itself": func(q *quorum) {
			q.vote(1001, 1002, 1003)
			q.vote(1001, 1003)
			q.lead(all, 4, 1001, 2, 1001, 1003)
		},
		"a leader that removes itself when a voter has stopped": func(q *quorum) {
			q.vote(1001, 1002, 1003)
			q.vote(1001, 1003)
			q.stopped = true
		},
		"a voter that came late": func(q *quorum) { q.late(2); q.records([]int{2}, 3, &metadata.NoOpRecord{}) },
	} {
		q := play(t)
		more(q)
		if looked, faults := judged(t, q.store()); looked < 20 || faults != "" {
			t.Errorf("%s: looked at %d, %s", name, looked, faults)
		}
	}
}

func abortedTransaction(q *quorum) {
	id := kafka.UUID{9}
	q.records(all, 3, &metadata.BeginTransactionRecord{}, &metadata.TopicRecord{Name: "u", TopicID: id})
	q.records(all, 3, &metadata.AbortTransactionRecord{}, &metadata.TopicRecord{Name: "u", TopicID: kafka.UUID{10}})
}

// Each fault is planted in logs that are sound without it, and is found in the
// stored file by its name.
func TestPlantedFaults(t *testing.T) {
	for name, c := range map[string]struct {
		want  string
		plant func(q *quorum)
	}{
		"a leader without a majority": {"K1", func(q *quorum) { q.lead(all, 4, 1003, 1) }},
		"two leaders of an epoch":     {"K1", func(q *quorum) { q.lead([]int{0, 1}, 4, 1001, 2); q.lead([]int{2}, 4, 1003, 2) }},
		"other records in one place": {"K2", func(q *quorum) {
			q.records([]int{0, 1}, 3, moved(kafka.NoLeader))
			q.records([]int{2}, 3, &metadata.NoOpRecord{})
		}},
		"logs that meet again": {"K2", func(q *quorum) {
			q.lead([]int{0}, 4, 1001, 2)
			q.lead([]int{1, 2}, 5, 1002, 2)
			q.lead(all, 6, 1002, 2)
		}},
		"a voter that kept what was deposed": {"K3", func(q *quorum) {
			q.records([]int{0}, 3, &metadata.NoOpRecord{})
			q.lead([]int{1, 2}, 4, 1002, 2)
		}},
		"an epoch without its beginning": {"K8", func(q *quorum) { q.records(all, 4, &metadata.NoOpRecord{}) }},
		"an epoch that begins twice":     {"K8", func(q *quorum) { q.lead(all, 3, 1002, 2) }},
		"a snapshot of something else":   {"K9", func(q *quorum) { q.snapshot(2, metalog.SnapshotID{EndOffset: 3, Epoch: 1}, register(1, 1)) }},
		"a log that begins behind its snapshot": {"K9", func(q *quorum) {
			q.late(2)
			q.records(all, 3, &metadata.NoOpRecord{})
			if err := os.Remove(filepath.Join(q.voters()[2].Dir, metalog.SnapshotID{EndOffset: 3, Epoch: 1}.FileName())); err != nil {
				q.t.Fatal(err)
			}
		}},
		"a shutdown granted to a leader": {"C11", func(q *quorum) {
			grant(q, 2)
			leaves(q)
			q.records(all, 3, moved(kafka.NoLeader), &metadata.FenceBrokerRecord{ID: 2, Epoch: 2})
		}},
		"a shutdown granted at the end": {"C11", func(q *quorum) { grant(q, 2) }},
		"a shutdown granted to who may lead again": {"C11", func(q *quorum) {
			leaves(q)
			q.records(all, 3, moved(kafka.NoLeader))
			grant(q, 2)
			q.records(all, 3, &metadata.NoOpRecord{})
		}},
		"an ISR that no record says":   {"C7: the leader of t-0 was told partition epoch 2", func(q *quorum) { acked(q, 2, 1, 2, 2, 1) }},
		"an ISR that is another":       {"C7", func(q *quorum) { acked(q, 2, 1, 1, 2, 1) }},
		"an ISR of another leadership": {"C7", func(q *quorum) { acked(q, 2, 2, 1, 2) }},
		"a leader that is no voter": {"K7: leader 1002 of epoch 4 is none", func(q *quorum) {
			q.vote(1001, 1002, 1003)
			q.vote(1001, 1003)
			q.lead(all, 4, 1002, 2, 1001, 1003)
		}},
		"a leader that stays when it is removed": {"K7: leader 1002 of epoch 3 goes on", func(q *quorum) {
			q.vote(1001, 1002, 1003)
			q.vote(1001, 1003)
		}},
		"a leader that removes one after itself": {"K7: leader 1002 of epoch 3 changes", func(q *quorum) {
			q.vote(1001, 1002, 1003)
			q.vote(1001, 1003)
			q.vote(1001)
		}},
		"two voters go at once":           {"K7", func(q *quorum) { q.vote(1001) }},
		"a leader with voters of its own": {"K7", func(q *quorum) { q.lead(all, 4, 1002, 2, 1002, 1003) }},
		"a record of an unknown topic": {"K12", func(q *quorum) {
			c := moved(2, 2)
			c.TopicID = kafka.UUID{8}
			q.records(all, 3, c)
		}},
		"a fenced leader":                 {"C4", func(q *quorum) { q.records(all, 3, moved(1, 1, 2)) }},
		"a leader out of sync":            {"C3", func(q *quorum) { q.records(all, 3, moved(2, 1)) }},
		"nobody in sync":                  {"C3", func(q *quorum) { q.records(all, 3, moved(kafka.NoLeader, []kafka.BrokerID{}...)) }},
		"an unclean leader":               {"C6", func(q *quorum) { q.records(all, 3, register(1, 8), moved(1, 1)) }},
		"an unclean leader without leave": {"C6", unclean},
		"an unclean leader that is not wanted": {"C6", func(q *quorum) {
			allow(q, "", uncleanConfig, "true")
			allow(q, "t", uncleanConfig, "false")
			unclean(q)
		}},
		"a leader epoch left out": {"C2", func(q *quorum) {
			p := *partition
			p.Leader, p.ISR, p.LeaderEpoch, p.PartitionEpoch = 2, []kafka.BrokerID{2}, 3, 2
			q.records(all, 3, &p)
		}},
		"a fenced broker that goes on leading": {"C4", func(q *quorum) {
			q.records(all, 3, &metadata.FenceBrokerRecord{ID: 2, Epoch: 2}, &metadata.NoOpRecord{})
		}},
		"a broker that shuts down and leads": {"C4", func(q *quorum) { leaves(q); q.records(all, 3, &metadata.NoOpRecord{}) }},
		"a leader whose directory failed":    {"K16", func(q *quorum) { inDirectories(q, 3) }},
		"a replica that nobody adds": {"C9", func(q *quorum) {
			c := metadata.NewPartitionChange(topicID, 0)
			c.Replicas = []kafka.BrokerID{1, 2, 3}
			q.records(all, 3, c)
		}},
		"a reassignment that ends early": {"C9", func(q *quorum) {
			reassign(q, []kafka.BrokerID{2}, []kafka.BrokerID{1, 3, 4}, []kafka.BrokerID{3})
		}},
		"a reassignment that leaves too few": {"C9", func(q *quorum) {
			allow(q, "t", minISRConfig, "2")
			q.records(all, 3, register(1, q.next()))
			isr := moved(2, 2, 1)
			isr.Leader = metadata.LeaderUnchanged
			shrink := moved(1, 1)
			shrink.Replicas = []kafka.BrokerID{1, 3}
			shrink.RemovingReplicas = []kafka.BrokerID{}
			begin := metadata.NewPartitionChange(topicID, 0)
			begin.Replicas, begin.AddingReplicas = []kafka.BrokerID{1, 2, 3}, []kafka.BrokerID{3}
			settled := metadata.NewPartitionChange(topicID, 0)
			settled.AddingReplicas, settled.RemovingReplicas = []kafka.BrokerID{}, []kafka.BrokerID{2}
			q.records(all, 3, isr, begin, settled, shrink)
		}},
		"an epoch that goes back":    {"C2", func(q *quorum) { q.records(all, 3, partition) }},
		"another leader of an epoch": {"C1", func(q *quorum) { p := *partition; p.LeaderEpoch = 1; q.records(all, 3, register(1, 8), &p) }},
		"a topic that is back":       {"C8", func(q *quorum) { q.records(all, 3, &metadata.RemoveTopicRecord{TopicID: topicID}, newTopic) }},
		"producer ids given twice": {"C10", func(q *quorum) {
			q.records(all, 3, &metadata.ProducerIDsRecord{BrokerID: 2, BrokerEpoch: 2, NextProducerID: 1000})
			q.records(all, 3, &metadata.ProducerIDsRecord{BrokerID: 2, BrokerEpoch: 2, NextProducerID: 1000})
		}},
		"a broker epoch that is no offset": {"K13", func(q *quorum) { q.records(all, 3, register(1, 77)) }},
	} {
		q := play(t)
		c.plant(q)
		want := c.want
		if !strings.Contains(want, ":") {
			want += ": "
		}
		if _, faults := judged(t, q.store()); !strings.Contains("\n"+faults, "\n"+want) {
			t.Errorf("%s: want %s, found %q", name, c.want, faults)
		}
	}
}

// A log whose beginning went into a snapshot is judged from there, and the later
// snapshots of other voters too.
func TestLogThatBeginsWithASnapshot(t *testing.T) {
	q := newQuorum(t)
	q.lead(all, 1, 1001, 2)
	q.records(all, 1, register(1, 1), register(2, 2))
	q.records(all, 1, newTopic, partition)
	for i, l := range q.logs {
		id := metalog.SnapshotID{EndOffset: 3, Epoch: 1}
		q.snapshot(i, id, register(1, 1), register(2, 2))
		if start, err := l.DeleteSnapshotsBefore(id); start == 0 || err != nil {
			t.Fatalf("the log begins at %d, %v", start, err)
		}
	}
	q.records(all, 1, &metadata.NoOpRecord{})
	q.snapshot(1, metalog.SnapshotID{EndOffset: 5, Epoch: 1}, register(1, 1), register(2, 2), newTopic, partition)
	q.records([]int{1}, 1, &metadata.NoOpRecord{})
	if looked, faults := judged(t, q.store()); faults != "" || looked < 10 {
		t.Error(looked, faults)
	}
	q.records([]int{0, 2}, 1, &metadata.NoOpRecord{})
	q.snapshot(1, metalog.SnapshotID{EndOffset: 6, Epoch: 1}, register(1, 1), register(2, 2), newTopic)
	if _, faults := judged(t, q.store()); !strings.HasPrefix(faults, "K9: snapshot 00000000000000000006-0000000001.checkpoint of voters [1002] is not") {
		t.Errorf("found %q", faults)
	}
	q.snapshot(1, metalog.SnapshotID{EndOffset: 7, Epoch: 1}, register(1, 1), register(2, 2), newTopic, partition)
	q.records(all, 1, moved(2, 1))
	if _, faults := judged(t, q.store()); !strings.HasPrefix(faults, "C3: ") {
		t.Errorf("found %q", faults)
	}
}

// What went before the newest log begins is judged in the log of another voter.
func TestLogBelowThatOfALateVoter(t *testing.T) {
	q := newQuorum(t)
	q.lead(all, 1, 1001, 2)
	q.records(all, 1, register(1, 77), register(2, 2))
	q.records(all, 1, newTopic, partition)
	q.late(2)
	q.records([]int{2}, 1, &metadata.NoOpRecord{})
	if _, faults := judged(t, q.store()); !strings.HasPrefix(faults, "K13: broker 1 is registered with epoch 77") {
		t.Errorf("found %q", faults)
	}
}

func TestDamagedFile(t *testing.T) {
	good := play(t).store()
	for n := 0; n < len(good)-1; n += 17 {
		if _, err := Judge(bytes.NewReader(good[:n])); err == nil {
			t.Fatalf("a file cut to %d of %d bytes is taken", n, len(good))
		}
	}
	for name, text := range map[string]string{
		"nothing":      "",
		"no voters":    "{}\n{\"end\":true}\n",
		"no batch":     "{\"voters\":[1]}\n{\"held\":[1],\"bytes\":3}\nabc{\"end\":true}\n",
		"forged size":  "{\"voters\":[1]}\n{\"held\":[1],\"bytes\":1000000000}\nabc",
		"no holder":    "{\"voters\":[1]}\n{\"bytes\":3}\nabc{\"end\":true}\n",
		"what follows": "{\"voters\":[1]}\n{\"end\":true}\nabc",
	} {
		var buf bytes.Buffer
		zw := gzip.NewWriter(&buf)
		if _, err := io.WriteString(zw, text); err != nil {
			t.Fatal(err)
		}
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Judge(bytes.NewReader(buf.Bytes())); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestStoreOfNoLog(t *testing.T) {
	err := Store(io.Discard, []Voter{{ID: 1001, Dir: filepath.Join(t.TempDir(), "gone")}}, nil)
	if err == nil || !strings.Contains(err.Error(), "voter 1001") {
		t.Errorf("%v", err)
	}
}

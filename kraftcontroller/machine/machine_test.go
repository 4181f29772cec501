package machine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

func TestConfigRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for want, cfg := range map[string]Config{
		"Config.Rand is nil":                    {ClusterID: "c"},
		"Config.ClusterID is empty":             {Rand: rng},
		"metadata.version 3.3-IV1":              {ClusterID: "c", Rand: rng, MetadataVersion: metadata.V3_3_IV1},
		"metadata.version level 99":             {ClusterID: "c", Rand: rng, MetadataVersion: 99},
		"Config.SessionTimeout is -1":           {ClusterID: "c", Rand: rng, SessionTimeout: -1},
		"Config.MaxRecords is -1, it must not ": {ClusterID: "c", Rand: rng, MaxRecords: -1},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A log that breaks its promises, or a record that does not fit, stops the
// machine with the place and the cause (case RP-56).
func TestStepRefuses(t *testing.T) {
	value := func(r metadata.Record) []byte {
		b, err := metadata.AppendRecord(nil, r, metadata.DefaultMetadataVersion.RecordVersion(r))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	noop := value(&metadata.NoOpRecord{})
	broker := value(&metadata.RegisterBrokerRecord{BrokerID: 3, BrokerEpoch: 1})
	for _, c := range []struct {
		name string
		ins  []Input
		want string
	}{
		{"a gap", []Input{Committed{BaseOffset: 1, Values: [][]byte{noop}}}, "offset 1 is committed after -1"},
		{"garbage", []Input{Committed{Values: [][]byte{noop, {9, 9, 9}}}}, "record at offset 1: metadata record: frame version 9"},
		{
			"an epoch that does not match",
			[]Input{Committed{Values: [][]byte{noop, broker, value(&metadata.UnregisterBrokerRecord{BrokerID: 3, BrokerEpoch: 2})}}},
			"record at offset 2, *metadata.UnregisterBrokerRecord: unregister broker 3: the record's epoch 2 is not that of its registration, 1",
		},
		{
			"a level that is not known (case RP-55)",
			[]Input{Committed{Values: [][]byte{noop, value(&metadata.FeatureLevelRecord{Name: metadata.MetadataVersionFeature, FeatureLevel: 99})}}},
			"record at offset 1: feature metadata.version is set to level 99, 7 to 33 are supported: run a version that knows it",
		},
		{
			"a level in a snapshot of a feature that is not known",
			[]Input{Snapshot{EndOffset: 5, Values: func(yield func([]byte, error) bool) {
				yield(value(&metadata.FeatureLevelRecord{Name: "nonsense", FeatureLevel: 1}), nil)
			}}},
			"snapshot at 5, data record 0: feature nonsense is set to level 1",
		},
		{"an end without a begin", []Input{Committed{Values: [][]byte{value(&metadata.EndTransactionRecord{})}}}, "ends that did not begin"},
		{"an abort without a begin", []Input{Committed{Values: [][]byte{value(&metadata.AbortTransactionRecord{})}}}, "aborted that did not begin"},
		{
			"a begin in a transaction",
			[]Input{Committed{Values: [][]byte{value(&metadata.BeginTransactionRecord{}), value(&metadata.BeginTransactionRecord{})}}},
			"record at offset 1: a transaction begins within a transaction",
		},
		{"an old epoch", []Input{Claim{Epoch: 2, NextOffset: 1}, Claim{Epoch: 2, NextOffset: 1}}, "claim of epoch 2 after epoch 2"},
		{"a claim behind", []Input{Committed{Values: [][]byte{noop, noop}}, Claim{Epoch: 1, NextOffset: 1}}, "next offset 1, but 1 is committed"},
		{"another leader", []Input{Claim{Epoch: 1, NextOffset: 0}, Committed{Epoch: 2, Values: [][]byte{noop}}}, "appended in epoch 2"},
		{"half a batch", []Input{Claim{Epoch: 1, NextOffset: 0}, Committed{Epoch: 1, Values: [][]byte{noop}}}, "offset 0 is committed, which ends no append"},
		{"too much", []Input{Claim{Epoch: 1, NextOffset: 0}, Committed{Epoch: 1, Values: [][]byte{noop, noop, noop, noop}}}, "offset 3 is committed, which ends no append"},
		{"a snapshot while active", []Input{Claim{Epoch: 1, NextOffset: 0}, Snapshot{}}, "cannot be loaded"},
		{"a broken snapshot", []Input{Snapshot{EndOffset: 5, Values: func(yield func([]byte, error) bool) {
			_ = yield(noop, nil) && yield([]byte{1}, nil)
		}}}, "snapshot at 5, data record 1"},
		{"a request without a body", []Input{Request{}}, "has no body"},
		{"nil", []Input{nil}, "unknown input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := New(Config{ClusterID: "c", Rand: rand.New(rand.NewPCG(1, 1))})
			if err != nil {
				t.Fatal(err)
			}
			for i, in := range c.ins {
				_, err = m.Step(0, in)
				if i < len(c.ins)-1 && err != nil {
					t.Fatal(err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// An empty log begins with what its directory was formatted with, and with
// min.insync.replicas where it keeps eligible leader replicas.
func TestBootstrap(t *testing.T) {
	user := metadata.ScramCredential{User: "ann", Mechanism: 1}.Record()
	level := &metadata.FeatureLevelRecord{Name: metadata.MetadataVersionFeature, FeatureLevel: int16(metadata.V4_4_IV2)}
	elr := &metadata.FeatureLevelRecord{Name: metadata.ELRVersionFeature, FeatureLevel: 1}
	for _, c := range []struct {
		bootstrap []metadata.Record
		want      int16
	}{
		{[]metadata.Record{level, elr, user}, int16(metadata.V4_4_IV2)},
		{[]metadata.Record{user}, int16(metadata.V4_4_IV2)},
	} {
		w := newWorld(Config{MetadataVersion: metadata.V4_4_IV2, Bootstrap: c.bootstrap})
		w.lead(1)
		w.commitAll()
		image := w.m.Image()
		_, known := image.Access().Scram("ann", 1)
		if w.err != nil || image.FeatureLevel(metadata.MetadataVersionFeature) != c.want || !known || image.FeatureLevel(metadata.ELRVersionFeature) != int16(min(len(c.bootstrap)-1, 1)) {
			t.Errorf("%v, user known=%v: %v", image.FeatureLevel(metadata.MetadataVersionFeature), known, w.err)
		}
		minISR, set := image.Config(metadata.ConfigResource{Type: metadata.BrokerConfig})[minISRConfig]
		if kept := image.FeatureLevel(metadata.ELRVersionFeature) > 0; set != kept || kept && minISR != "1" {
			t.Errorf("eligible leader replicas=%v, min.insync.replicas=%q, set=%v", kept, minISR, set)
		}
	}
}

// Records that older controllers wrote act as they did: a log that is upgraded
// still has them.
func TestOldRecords(t *testing.T) {
	m, err := New(Config{ClusterID: "c", Rand: rand.New(rand.NewPCG(1, 1))})
	if err != nil {
		t.Fatal(err)
	}
	next := kafka.Offset(0)
	for _, c := range []struct {
		record metadata.Record
		fenced bool
	}{
		{&metadata.RegisterBrokerRecord{BrokerID: 3, BrokerEpoch: 1, Fenced: true}, true},
		{&metadata.UnfenceBrokerRecord{ID: 3, Epoch: 1}, false},
		{&metadata.ZkMigrationStateRecord{State: 3}, false},
		{&metadata.FenceBrokerRecord{ID: 3, Epoch: 1}, true},
	} {
		value, err := metadata.AppendRecord(nil, c.record, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Step(0, Committed{BaseOffset: next, Values: [][]byte{value}}); err != nil {
			t.Fatal(err)
		}
		if b, ok := m.Image().Broker(3); !ok || b.Fenced != c.fenced {
			t.Errorf("after %T: %+v", c.record, b)
		}
		next++
	}
}

// A transaction that its controller left open is hidden from readers, and is
// aborted by the next controller (K15).
func TestOpenTransaction(t *testing.T) {
	w := newWorld(Config{})
	w.up(t, 1)
	ask[*kmsg.CreateTopicsResponse](t, w, newTopic("kept", 1, 1))
	w.step(Renounce{})
	name := "half"
	for _, r := range []metadata.Record{&metadata.BeginTransactionRecord{Name: &name}, &metadata.TopicRecord{Name: "half", TopicID: kafka.UUID{7}}} {
		v, err := metadata.AppendRecord(nil, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.log = append(w.log, logged{epoch: 1, value: v, end: true})
	}
	w.commitAll()
	if _, shown := w.m.Image().Topic("half"); shown || w.err != nil {
		t.Fatalf("shown=%v, %v", shown, w.err)
	}
	if _, there := w.m.Working().Topic("half"); !there {
		t.Fatal("the open transaction is not in the working image")
	}
	out := w.lead(2)
	if len(out.Appends) != 1 || len(out.Appends[0].Values) != 1 {
		t.Fatalf("the claim appends %v", out.Appends)
	}
	if r, _, _ := metadata.ReadRecord(out.Appends[0].Values[0]); r.Key() != (&metadata.AbortTransactionRecord{}).Key() {
		t.Fatalf("the claim appends %T", r)
	}
	w.commitAll()
	for image := range map[*metadata.Image]bool{w.m.Image(): true, w.m.Working(): true} {
		if _, there := image.Topic("half"); there || image.NumTopics() != 1 {
			t.Error("the transaction is there after its abort")
		}
	}
}

// A batch is cut by its bytes as by its records.
func TestBatchBytes(t *testing.T) {
	w := newWorld(Config{MaxBatchBytes: 400, NumPartitions: 1})
	w.up(t, 1)
	if r := ask[*kmsg.CreateTopicsResponse](t, w, newTopic("large", 10, 1)); r.Topics[0].ErrorCode != int16(kafka.PolicyViolation) {
		t.Errorf("an atomic operation above the limit: %v", kafka.ErrorCode(r.Topics[0].ErrorCode))
	}
	for n := range 10 {
		if r := ask[*kmsg.CreateTopicsResponse](t, w, newTopic(fmt.Sprint("t", n), 2, 1)); r.Topics[0].ErrorCode != 0 {
			t.Fatal(kafka.ErrorCode(r.Topics[0].ErrorCode))
		}
	}
	w.now += time.Hour
	out := w.step(Tick{})
	if len(out.Appends) < 2 || w.err != nil {
		t.Fatalf("%d batches, %v", len(out.Appends), w.err)
	}
	for _, a := range out.Appends {
		size := 0
		for _, v := range a.Values {
			size += len(v)
		}
		if size > 400 {
			t.Errorf("a batch of %d bytes", size)
		}
	}
}

// The deadline is that of the next tick that has something to do.
func TestDeadline(t *testing.T) {
	w := newWorld(Config{SessionTimeout: 3 * time.Second, NoOpInterval: -1})
	if out := w.step(Tick{}); out.Deadline != Never {
		t.Errorf("a standby waits until %v", out.Deadline)
	}
	w.up(t, 2)
	w.now = 2 * time.Second
	w.request(w.beat(0, w.done))
	if w.out.Deadline != 3*time.Second {
		t.Errorf("deadline %v", w.out.Deadline)
	}
	w.now = 3 * time.Second
	if out := w.step(Tick{}); len(out.Events) != 1 || out.Events[0] != (Event{BrokerFenced, 1}) || out.Deadline > w.now {
		t.Errorf("at the end of broker 1's session: %v, deadline %v", out.Events, out.Deadline)
	}
	if out := w.step(Tick{}); len(out.Events) != 0 || out.Deadline != 5*time.Second {
		t.Errorf("then: %v, deadline %v", out.Events, out.Deadline)
	}
}

// A request of a key that the machine does not serve is answered.
func TestUnknownRequest(t *testing.T) {
	w := newWorld(Config{})
	w.up(t, 1)
	if out := w.request(kmsg.NewPtrMetadataRequest()); len(out.Responses) != 1 || w.err != nil {
		t.Errorf("%d answers, %v", len(out.Responses), w.err)
	}
	if Serves(3) || !Serves(63) {
		t.Error("Serves")
	}
}

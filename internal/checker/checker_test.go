package checker

import (
	"bytes"
	"compress/gzip"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/fuzzing"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
)

func id(n byte) kafka.UUID { return kafka.UUID{15: n} }

func part(index int32, leader kafka.BrokerID, epoch kafka.LeaderEpoch) Partition {
	return Partition{Index: index, Leader: leader, LeaderEpoch: epoch, Replicas: []kafka.BrokerID{1, 2, 3}, ISR: []kafka.BrokerID{3, 1, 2}}
}

// sound is a history without a fault in which every invariant looks at
// something.
func sound() History {
	h := soundButForTimes()
	for i := range h.Operations { // one after the other
		h.Operations[i].SentNs, h.Operations[i].AtNs = int64(2*i+1), int64(2*i+2)
	}
	return h
}

func soundButForTimes() History {
	view := func(b kafka.BrokerID) View {
		return View{Broker: b, Topics: []Topic{
			{Name: "a", ID: id(1), Partitions: []Partition{part(0, 1, 3), part(1, 2, 0)}},
			{Name: "again", ID: id(3), Partitions: []Partition{part(0, 2, 0)}},
			{Name: "maybe", ID: id(4), Partitions: []Partition{part(0, 3, 0)}},
		}}
	}
	seen := func(at int64, b, leader kafka.BrokerID, epoch kafka.LeaderEpoch) Observation {
		return Observation{AtNs: at, Broker: b, Topic: "a", TopicID: id(1), Leader: leader, LeaderEpoch: epoch}
	}
	return History{
		Operations: []Operation{
			{Kind: CreateTopic, Topic: "a", ID: id(1), Partitions: 1, Outcome: Acknowledged},
			{Kind: CreatePartitions, Topic: "a", Partitions: 2, Outcome: Acknowledged},
			{Kind: CreateTopic, Topic: "gone", ID: id(2), Partitions: 1, Outcome: Acknowledged},
			{Kind: DeleteTopic, Topic: "gone", Outcome: Acknowledged},
			{Kind: CreateTopic, Topic: "again", ID: id(9), Partitions: 1, Outcome: Acknowledged},
			{Kind: DeleteTopic, Topic: "again", Outcome: Acknowledged},
			{Kind: CreateTopic, Topic: "again", ID: id(3), Partitions: 1, Outcome: Acknowledged},
			{Kind: CreateTopic, Topic: "maybe", Partitions: 1, Outcome: Unknown},
			{Kind: CreateTopic, Topic: "maybe-not", Partitions: 1, Outcome: Unknown},
		},
		Views: []View{view(1), view(2), view(3)},
		Observations: []Observation{
			seen(1, 1, 1, 0), seen(2, 2, 1, 0), seen(3, 1, 2, 1), seen(4, 2, kafka.NoLeader, 2), seen(5, 2, 1, 3), seen(6, 1, 1, 3),
		},
		Elections: []Election{{1, "c1", 1}, {2, "c2", 2}},
		Epochs:    []EpochSeen{{1, "b1", 1}, {2, "b1", 2}, {3, "b2", 1}, {4, "b2", 2}},
		Fences:    []Fence{{AtNs: 5e9, Broker: 1, Epoch: 2, SilentNs: 2e9, SessionNs: 2e9}},
		LedAlone:  []LedAlone{{AtNs: 6e9, Node: "c1", Epoch: 1, AloneNs: 3e9, LimitNs: 3e9}},
	}
}

func TestSoundHistory(t *testing.T) {
	for _, r := range Check(sound()) {
		if !r.OK() || r.Looked == 0 {
			t.Errorf("%s: looked at %d, %q", r.Name, r.Looked, r.Faults)
		}
	}
}

// TestPlantedFaults: each invariant finds what is planted for it, and no other
// one does.
func TestPlantedFaults(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*History)
		found []string // invariants
		says  string
	}{
		"an acknowledged topic is lost everywhere": {func(h *History) {
			for i := range h.Views {
				h.Views[i].Topics = h.Views[i].Topics[1:]
			}
		}, []string{"acknowledged", "linearizable"}, `topic "a" was acknowledged and is missing on broker 1`},
		"an acknowledged topic is lost on one broker": {func(h *History) { h.Views[2].Topics = h.Views[2].Topics[1:] }, []string{"acknowledged", "linearizable", "equal-images"}, `topic "a" is on broker 1 and not on broker 3`},
		"partitions are lost": {func(h *History) {
			for i := range h.Views {
				h.Views[i].Topics[0].Partitions = h.Views[i].Topics[0].Partitions[:1]
			}
		}, []string{"acknowledged", "linearizable"}, `"a" was acknowledged with 2 partitions and has 1`},
		"a deleted topic is back": {func(h *History) {
			for i := range h.Views {
				h.Views[i].Topics = append(h.Views[i].Topics, Topic{Name: "gone", ID: id(2)})
			}
		}, []string{"acknowledged", "linearizable"}, `"gone" was deleted and is back`},
		"an older topic of the name is back": {func(h *History) {
			for i := range h.Views {
				h.Views[i].Topics[1].ID = id(9)
			}
		}, []string{"acknowledged", "linearizable"}, `"again" was acknowledged with id`},
		"no history": {func(h *History) { h.Operations = nil }, []string{"acknowledged"}, "broker 1 serves 3 topics and the history holds no acknowledged operation"},
		"no answer at all": {func(h *History) {
			for i := range h.Operations {
				h.Operations[i].Outcome = Unknown
			}
		}, []string{"acknowledged"}, "the history holds no acknowledged operation"},
		"no view":      {func(h *History) { h.Views = nil }, []string{"acknowledged"}, "no broker's final metadata was read"},
		"a stale view": {func(h *History) { h.Views[1].Topics[1].Partitions[0].LeaderEpoch = 7 }, []string{"equal-images"}, "again differs: partition 0 leader 2 epoch 0"},
		"another ISR":  {func(h *History) { h.Views[1].Topics[0].Partitions[1].ISR = []kafka.BrokerID{1} }, []string{"equal-images"}, "isr [1]"},
		"another id":   {func(h *History) { h.Views[1].Topics[2].ID = id(8) }, []string{"equal-images"}, `topic "maybe" has id`},
		"a partition more": {func(h *History) {
			h.Views[1].Topics[2].Partitions = append(h.Views[1].Topics[2].Partitions, part(1, 1, 0))
		}, []string{"equal-images"}, "has 1 partitions on broker 1 and 2"},
		"two leaders":             {func(h *History) { h.Observations[1].Leader = 2 }, []string{"one-leader"}, "a-0 has two leaders in epoch 0: 1 as broker 1 served it, 2 as broker 2 did"},
		"views against seen":      {func(h *History) { h.Observations[5].Leader, h.Observations[4].Leader = 2, 2 }, []string{"one-leader"}, "two leaders in epoch 3"},
		"epoch back":              {func(h *History) { h.Observations[5].LeaderEpoch, h.Observations[5].Leader = 0, 1 }, []string{"epochs-forward"}, "broker 1 served a-0 with leader epoch 0 after 1"},
		"two controllers":         {func(h *History) { h.Elections[1].Epoch = 1 }, []string{"one-controller"}, "controller epoch 1 was claimed by c1 and by c2"},
		"a live broker is fenced": {func(h *History) { h.Fences[0].SilentNs = 1.9e9 }, []string{"live-not-fenced"}, "epoch 2 fenced broker 1 1.9s after"},
		"an isolated leader":      {func(h *History) { h.LedAlone[0].AloneNs++ }, []string{"isolated-steps-down"}, "c1 led epoch 1 for 3.000000001s without a majority"},
		"older controller":        {func(h *History) { h.Epochs[3].Epoch = 0 }, []string{"controller-epochs-forward"}, "b2 saw controller epoch 0 after 1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := sound()
			c.plant(&h)
			var found []string
			var words string
			v := Check(h)
			for _, r := range v {
				if !r.OK() {
					found = append(found, r.Name)
					words += strings.Join(r.Faults, "\n")
				}
			}
			if !reflect.DeepEqual(found, c.found) || !strings.Contains(words, c.says) || v.OK() {
				t.Errorf("found %q:\n%s\nwant %q with %q", found, words, c.found, c.says)
			}
		})
	}
}

// TestRestartMayLag: a new process may serve what its predecessor had passed.
func TestRestartMayLag(t *testing.T) {
	h := sound()
	h.Observations = append(h.Observations, Observation{AtNs: 7, Broker: 1, Incarnation: 1, Topic: "a", TopicID: id(1), Leader: 1, LeaderEpoch: 0})
	if v := Check(h); !v.OK() {
		t.Errorf("%+v", v)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var h History
	for i := range 100 {
		h.Elections = append(h.Elections, Election{Node: string(rune('a' + i%2)), Epoch: 1})
	}
	for _, r := range Check(h) {
		if r.Name == "one-controller" && (len(r.Faults) != maxFaults || r.More != 40) {
			t.Errorf("%d faults and %d more", len(r.Faults), r.More)
		}
	}
}

func TestEmptyHistoryProvesNothing(t *testing.T) {
	for _, r := range Check(History{}) {
		if !r.OK() || r.Looked != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// What was not looked at is said, by the checks that did not.
func TestNotes(t *testing.T) {
	h := sound()
	h.Unkept = 5
	for _, r := range Check(h) {
		want := ""
		if r.Name == "one-leader" || r.Name == "epochs-forward" {
			want = "judged the first 6 observations, 5 came after"
		}
		if r.Note != want {
			t.Errorf("%s notes %q, want %q", r.Name, r.Note, want)
		}
	}
	h = sound()
	h.Views, h.Interrupted = nil, true
	for _, r := range Check(h) {
		told := strings.Contains(r.Note, "9 operations are not judged: the run was interrupted")
		if !r.OK() || told != (r.Name == "acknowledged") {
			t.Errorf("%s: %q, notes %q", r.Name, r.Faults, r.Note)
		}
		if r.Name == "linearizable" && r.Looked == 0 {
			t.Error("what clients were told is not judged")
		}
	}
}

// In a cell that ran, a part of the history that is gone is found by what must have
// looked at it.
func TestCutHistoryOfACell(t *testing.T) {
	for name, c := range map[string]struct {
		cut   func(*History)
		found []string
	}{
		"nothing is cut":   {func(*History) {}, nil},
		"all":              {func(h *History) { *h = History{} }, []string{"acknowledged", "linearizable", "one-leader", "epochs-forward", "one-controller"}},
		"the observations": {func(h *History) { h.Observations = nil }, []string{"epochs-forward"}},
		"the elections":    {func(h *History) { h.Elections = nil }, []string{"one-controller"}},
		"all views but one": {func(h *History) {
			h.Views = h.Views[:1]
		}, []string{"equal-images"}},
		"what need not be there": {func(h *History) { h.Fences, h.Epochs = nil, nil }, nil},
	} {
		h := sound()
		c.cut(&h)
		var found []string
		for _, r := range CheckCell(h, true) {
			if !r.OK() {
				found = append(found, r.Name)
			}
		}
		if !reflect.DeepEqual(found, c.found) {
			t.Errorf("%s: found %q, want %q", name, found, c.found)
		}
	}
	h := sound()
	h.Elections, h.Epochs, h.Fences = nil, nil, nil
	if v := CheckCell(h, false); !v.OK() {
		t.Errorf("a cluster whose nodes kbench did not start: %+v", v)
	}
}

func TestStoreRoundTrip(t *testing.T) {
	h := sound()
	h.Observations[0].TopicID = kafka.UUID{}
	h.Observations[0].Incarnation = 2
	h.Unkept, h.Interrupted = 5, true
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(b.Bytes())
	got, err := Read(&b)
	if err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("%+v\n%v", got, err)
	}
	for n := 0; n < len(whole); n += 7 {
		if _, err := Read(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("a history cut at %d of %d bytes is read", n, len(whole))
		}
	}
}

// FuzzRead: a stored history, given without its compression, is checked or
// refused, in memory bounded by what is in it.
func FuzzRead(f *testing.F) {
	var stored bytes.Buffer
	if err := Write(&stored, sound()); err != nil {
		f.Fatal(err)
	}
	zr, err := gzip.NewReader(&stored)
	if err != nil {
		f.Fatal(err)
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	zipped := fuzzing.Zipped()
	f.Fuzz(func(t *testing.T, text []byte) {
		file := bytes.NewReader(zipped(t, text))
		fuzzing.Within(t, len(text), 1024, func() {
			if h, err := Read(file); err == nil {
				Check(h)
			}
		})
	})
}

func TestFromImageAndMetadata(t *testing.T) {
	d := metadata.NewDelta(metadata.Empty())
	for _, r := range []metadata.Record{
		&metadata.TopicRecord{Name: "a", TopicID: id(1)},
		&metadata.PartitionRecord{PartitionID: 0, TopicID: id(1), Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{2, 1}, Leader: 1, LeaderEpoch: 4},
	} {
		if err := d.Replay(r); err != nil {
			t.Fatal(err)
		}
	}
	image := FromImage(1, d.Apply(1, 1))
	m := kmsg.NewPtrMetadataResponse()
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.TopicID = kmsg.StringPtr("a"), id(1)
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = 1, 4, []int32{1, 2}, []int32{1, 2}
	topic.Partitions = append(topic.Partitions, p)
	gone := kmsg.NewMetadataResponseTopic()
	gone.Topic, gone.ErrorCode = kmsg.StringPtr("gone"), 3
	m.Topics = append(m.Topics, topic, gone)
	served := FromMetadata(2, m)
	if r := equalImages([]View{image, served}); !r.OK() || r.Looked != 2 {
		t.Errorf("%+v: %+v and %+v", r, image, served)
	}
}

func TestFromTraces(t *testing.T) {
	elections, epochs := FromTraces([]trace.Event{
		{T: 3, Node: "b1", Kind: trace.BrokerControllerEpoch, Epoch: 2, Broker: 1},
		{T: 1, Node: "c1", Kind: trace.ControllerElected, Epoch: 1},
		{T: 4, Node: "b1", Kind: trace.BrokerControllerEpoch, Epoch: 1, Broker: 2},
		{T: 2, Node: "b1", Kind: trace.BrokerApplied, N: 3},
	})
	if len(elections) != 1 || len(epochs) != 2 || !controllerEpochsForward(epochs).OK() {
		t.Errorf("%+v %+v", elections, epochs)
	}
}

func TestLedAloneFromTraces(t *testing.T) {
	got := LedAloneFromTraces([]trace.Event{
		{T: 1, Node: "c1", Kind: trace.ControllerElected, Epoch: 1},
		{T: 2, Node: "c1", Kind: trace.QuorumLedAlone, Epoch: 1, N: 31, Limit: 30},
	})
	if want := []LedAlone{{AtNs: 2, Node: "c1", Epoch: 1, AloneNs: 31, LimitNs: 30}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// A controller is held to what it has heard: what another one did, or it did
// before, is no fence that the broker heard of.
func TestFencesFromTraces(t *testing.T) {
	fenced := func(at int64, broker int32, epoch int64) trace.Event {
		return trace.Event{T: at, Node: "c", Kind: trace.BrokerFenced, Broker: broker, Epoch: epoch, N: 20}
	}
	got := FencesFromTraces([]trace.Event{
		fenced(9, 1, 2), fenced(15, 1, 1), fenced(16, 2, 2), fenced(30, 1, 2), fenced(41, 1, 2),
		{T: 40, Node: "b1", Kind: trace.BrokerHeardFenced, Broker: 1, Epoch: 2, N: 30},
	})
	if want := []Fence{{AtNs: 30, Broker: 1, Epoch: 2, SilentNs: 20, SessionNs: 20}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

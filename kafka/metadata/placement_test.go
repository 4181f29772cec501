package metadata

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kbench/kafka"
)

func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 4).Draw(t, "racks")
		n := rapid.IntRange(1, 12).Draw(t, "brokers")
		var brokers []PlacementBroker
		fenced := map[kafka.BrokerID]bool{}
		rackOf := map[kafka.BrokerID]string{}
		for i := range n {
			b := PlacementBroker{ID: kafka.BrokerID(i), Rack: fmt.Sprint(i % racks), Fenced: i > 0 && rapid.IntRange(0, 3).Draw(t, "fenced") == 0}
			fenced[b.ID], rackOf[b.ID] = b.Fenced, b.Rack
			brokers = append(brokers, b)
		}
		rf := rapid.IntRange(1, n).Draw(t, "rf")
		seed := rapid.Uint64().Draw(t, "seed")
		partitions := rapid.IntRange(1, 60).Draw(t, "partitions")
		placed, err := Place(rand.New(rand.NewPCG(seed, 1)), brokers, partitions, rf)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(brokers)
		again, err := Place(rand.New(rand.NewPCG(seed, 1)), brokers, partitions, rf)
		if err != nil || fmt.Sprint(placed) != fmt.Sprint(again) {
			t.Fatal("the order of the brokers changed the outcome")
		}
		for _, replicas := range placed {
			if len(replicas) != rf || fenced[replicas[0]] {
				t.Fatalf("%v: %d wanted, leader fenced=%v", replicas, rf, fenced[replicas[0]])
			}
			used := map[string]bool{}
			for i, b := range replicas {
				if slices.Contains(replicas[:i], b) {
					t.Fatalf("%v repeats %d", replicas, b)
				}
				used[rackOf[b]] = true
			}
			if want := min(rf, racks, n); len(used) < want {
				t.Fatalf("%v is on %d racks, want %d", replicas, len(used), want)
			}
		}
	})
}

// Leaders and replicas of many partitions are even on even racks.
func TestPlaceIsEven(t *testing.T) {
	var brokers []PlacementBroker
	for i := range 6 {
		brokers = append(brokers, PlacementBroker{ID: kafka.BrokerID(i), Rack: fmt.Sprint(i % 3)})
	}
	placed, err := Place(rand.New(rand.NewPCG(1, 2)), brokers, 6000, 3)
	must(t, err)
	led, held := map[kafka.BrokerID]int{}, map[kafka.BrokerID]int{}
	for _, r := range placed {
		led[r[0]]++
		for _, b := range r {
			held[b]++
		}
	}
	for _, b := range brokers {
		if led[b.ID] != 1000 || held[b.ID] != 3000 {
			t.Errorf("broker %d leads %d of 6000 and holds %d of 18000", b.ID, led[b.ID], held[b.ID])
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	three := []PlacementBroker{{ID: 0}, {ID: 1}, {ID: 2}}
	for _, c := range []struct {
		brokers        []PlacementBroker
		partitions, rf int
		want           string
	}{
		{three, 0, 1, "number of partitions is 0"},
		{three, -1, 1, "number of partitions is -1"},
		{three, 1, 0, "replication factor is 0"},
		{three, 1, 4, "only 3 brokers are registered"},
		{nil, 1, 1, "only 0 brokers are registered"},
		{[]PlacementBroker{{ID: 0, Fenced: true}}, 1, 1, "all 1 brokers are fenced"},
	} {
		if _, err := Place(rand.New(rand.NewPCG(1, 2)), c.brokers, c.partitions, c.rf); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v partitions=%d rf=%d: %v, want %q", c.brokers, c.partitions, c.rf, err, c.want)
		}
	}
}

// RF 3 with broker 2 fenced and broker 0 the only other one left: case RP-42.
func TestPlacePutsFencedLast(t *testing.T) {
	for seed := range uint64(20) {
		placed, err := Place(rand.New(rand.NewPCG(seed, 0)), []PlacementBroker{{ID: 0}, {ID: 1, Fenced: true}, {ID: 2, Fenced: true}}, 5, 3)
		must(t, err)
		for _, r := range placed {
			if r[0] != 0 {
				t.Fatalf("seed %d: %v", seed, r)
			}
		}
	}
}

func TestElectLeader(t *testing.T) {
	type ids = []kafka.BrokerID
	for _, c := range []struct {
		name         string
		strategy     ElectionStrategy
		replicas     ids
		isr          ids
		target       ids
		dead         ids
		shuttingDown ids
		unclean      bool
		leader       kafka.BrokerID
		wantISR      ids
		wantUnclean  bool
	}{
		{name: "offline takes the first live in sync", replicas: ids{1, 2, 3}, isr: ids{3, 2, 1}, dead: ids{1}, leader: 2, wantISR: ids{3, 2}},
		{name: "offline skips those out of sync", replicas: ids{1, 2, 3}, isr: ids{3}, leader: 3, wantISR: ids{3}},
		{name: "offline without any", replicas: ids{1, 2}, isr: ids{1}, dead: ids{1}, leader: -1},
		{name: "offline unclean", replicas: ids{1, 2, 3}, isr: ids{1}, dead: ids{1}, unclean: true, leader: 2, wantISR: ids{2}, wantUnclean: true},
		{name: "offline unclean is the last resort", replicas: ids{1, 2, 3}, isr: ids{3}, unclean: true, leader: 3, wantISR: ids{3}},
		{name: "reassign", strategy: ElectReassign, replicas: ids{1, 2, 3}, target: ids{4, 3}, isr: ids{1, 3}, leader: 3, wantISR: ids{1, 3}},
		{name: "reassign without any", strategy: ElectReassign, replicas: ids{1, 2}, target: ids{3}, isr: ids{1, 2}, leader: -1},
		{name: "preferred", strategy: ElectPreferred, replicas: ids{1, 2}, isr: ids{2, 1}, leader: 1, wantISR: ids{2, 1}},
		{name: "preferred out of sync", strategy: ElectPreferred, replicas: ids{1, 2}, isr: ids{2}, leader: -1},
		{name: "preferred dead", strategy: ElectPreferred, replicas: ids{1, 2}, isr: ids{1, 2}, dead: ids{1}, leader: -1},
		{name: "shutdown", strategy: ElectControlledShutdown, replicas: ids{1, 2, 3}, isr: ids{1, 2, 3}, shuttingDown: ids{1}, leader: 2, wantISR: ids{2, 3}},
		{name: "shutdown of two", strategy: ElectControlledShutdown, replicas: ids{1, 2, 3}, isr: ids{1, 2, 3}, shuttingDown: ids{1, 2}, leader: 3, wantISR: ids{3}},
		{name: "shutdown of the last", strategy: ElectControlledShutdown, replicas: ids{1, 2}, isr: ids{1}, shuttingDown: ids{1}, leader: -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			isr := slices.Clone(c.isr)
			got, ok := ElectLeader(c.strategy, Ballot{
				Replicas: c.replicas, ISR: c.isr, Target: c.target, Unclean: c.unclean,
				Live:         func(b kafka.BrokerID) bool { return !slices.Contains(c.dead, b) },
				ShuttingDown: func(b kafka.BrokerID) bool { return slices.Contains(c.shuttingDown, b) },
			})
			if ok != (c.leader >= 0) || got.Leader != c.leader || !slices.Equal(got.ISR, c.wantISR) || got.Unclean != c.wantUnclean {
				t.Errorf("got %+v, %v", got, ok)
			}
			if !slices.Equal(isr, c.isr) {
				t.Error("the ballot's ISR changed")
			}
		})
	}
}

func TestValidateTopicName(t *testing.T) {
	for name, want := range map[string]string{
		"a": "", "A.b_c-9": "", strings.Repeat("x", 249): "", "...": "",
		"": "empty", ".": "names a directory", "..": "names a directory",
		strings.Repeat("x", 250): "250 characters", "a b": "at byte 1", "ü": "at byte 0", "a/b": "at byte 1", "a\x00": "at byte 1",
	} {
		err := ValidateTopicName(name)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || len(err.Error()) > 200) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if CollisionKey("a.b_c") != CollisionKey("a_b.c") {
		t.Error("names that collide have other keys")
	}
}

func TestMetadataVersion(t *testing.T) {
	v, err := ParseMetadataVersion("4.0-IV3")
	if err != nil || v != DefaultMetadataVersion || v.String() != "4.0-IV3" {
		t.Errorf("%v, %v", v, err)
	}
	for release, want := range map[string]MetadataVersion{"3.3": V3_3_IV3, "3.9": V3_9_IV0, "4.0": V4_0_IV3, "4.4": NewestMetadataVersion} {
		if v, err := ParseMetadataVersion(release); err != nil || v != want {
			t.Errorf("%s: %v, %v", release, v, err)
		}
		if v, ok := NewestOf(release + ".1-mine"); !ok || v != want {
			t.Errorf("%s.1-mine: %v", release, v)
		}
	}
	if v, ok := NewestOf("9.9.0"); ok {
		t.Errorf("9.9.0 has %v", v)
	}
	for _, bad := range []string{"", "3.0-IV1", "3.0", "9.9-IV9", "9.9", "4.0-"} {
		if _, err := ParseMetadataVersion(bad); err == nil {
			t.Errorf("%q gives no error", bad)
		}
	}
	for v, want := range map[MetadataVersion][4]int16{
		V3_3_IV3: {1, 0, 0, 1}, V3_4_IV0: {2, 0, 0, 1}, V3_7_IV0: {2, 0, 0, 1}, V3_7_IV2: {3, 1, 1, 2}, V4_0_IV3: {3, 2, 2, 2}, V4_4_IV2: {4, 2, 2, 3},
	} {
		got := [4]int16{
			v.RecordVersion(&RegisterBrokerRecord{}), v.RecordVersion(&PartitionRecord{}),
			v.RecordVersion(&PartitionChangeRecord{}), v.RecordVersion(&BrokerRegistrationChangeRecord{}),
		}
		if got != want {
			t.Errorf("%s: %v, want %v", v, got, want)
		}
	}
}

package metadata

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"kbench/kafka"
)

// PlacementBroker is a broker that may get replicas.
type PlacementBroker struct {
	ID     kafka.BrokerID
	Rack   string // "" for none, which counts as a rack of its own
	Fenced bool   // gets replicas after those that are not, and leads none
}

// Place chooses the replicas of new partitions as Kafka's StripedReplicaPlacer
// does: racks take turns as the home of the leader, replicas are spread over
// the racks, and within a rack brokers take turns, unfenced ones first. The
// first replica of each partition is unfenced. The outcome depends on rng and
// the set of brokers alone.
//
// It gives an error, for an INVALID_REPLICATION_FACTOR, if replicationFactor
// is below 1 or above the number of brokers, or if all brokers are fenced; and
// for an INVALID_PARTITIONS if partitions is below 1.
func Place(rng *rand.Rand, brokers []PlacementBroker, partitions, replicationFactor int) ([][]kafka.BrokerID, error) {
	switch {
	case partitions < 1:
		return nil, fmt.Errorf("the number of partitions is %d, it must be at least 1", partitions)
	case replicationFactor < 1:
		return nil, fmt.Errorf("the replication factor is %d, it must be at least 1", replicationFactor)
	case replicationFactor > len(brokers):
		return nil, fmt.Errorf("the replication factor is %d but only %d brokers are registered", replicationFactor, len(brokers))
	}
	racks := newRackList(rng, brokers)
	if racks.unfenced == 0 {
		return nil, fmt.Errorf("all %d brokers are fenced", len(brokers))
	}
	placed := make([][]kafka.BrokerID, partitions)
	all := make([]kafka.BrokerID, partitions*replicationFactor)
	for i := range placed {
		placed[i] = racks.place(all[i*replicationFactor : i*replicationFactor : (i+1)*replicationFactor])
	}
	return placed, nil
}

// turns is a list of brokers that take turns. The first broker to have its
// turn moves on by one with each epoch.
type turns struct {
	brokers []kafka.BrokerID
	epoch   int
	index   int
	offset  int
}

// next gives the next broker of this epoch, or false when all have had their
// turn.
func (t *turns) next(epoch int) (kafka.BrokerID, bool) {
	if len(t.brokers) == 0 {
		return kafka.NoLeader, false
	}
	if t.epoch != epoch {
		t.epoch = epoch
		t.index = 0
		t.offset = (t.offset + 1) % len(t.brokers)
	}
	if t.index >= len(t.brokers) {
		return kafka.NoLeader, false
	}
	b := t.brokers[(t.index+t.offset)%len(t.brokers)]
	t.index++
	return b, true
}

func (t *turns) shuffle(rng *rand.Rand) {
	rng.Shuffle(len(t.brokers), func(i, j int) { t.brokers[i], t.brokers[j] = t.brokers[j], t.brokers[i] })
}

type rack struct{ unfenced, fenced turns }

func (r *rack) next(epoch int) (kafka.BrokerID, bool) {
	if b, ok := r.unfenced.next(epoch); ok {
		return b, true
	}
	return r.fenced.next(epoch)
}

type rackList struct {
	rng      *rand.Rand
	racks    []*rack // by name at first, shuffled later
	unfenced int
	epoch    int
	offset   int
}

func newRackList(rng *rand.Rand, brokers []PlacementBroker) *rackList {
	byName := map[string]*rack{}
	l := &rackList{rng: rng}
	for _, b := range slices.SortedFunc(slices.Values(brokers), func(a, b PlacementBroker) int { return cmp.Compare(a.ID, b.ID) }) {
		r := byName[b.Rack]
		if r == nil {
			r = &rack{}
			byName[b.Rack] = r
		}
		if b.Fenced {
			r.fenced.brokers = append(r.fenced.brokers, b.ID)
		} else {
			r.unfenced.brokers = append(r.unfenced.brokers, b.ID)
			l.unfenced++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r := byName[name]
		for _, t := range []*turns{&r.fenced, &r.unfenced} {
			if len(t.brokers) > 0 {
				t.offset = rng.IntN(len(t.brokers))
			}
		}
		l.racks = append(l.racks, r)
	}
	if len(l.racks) > 0 {
		l.offset = rng.IntN(len(l.racks))
	}
	return l
}

// place fills replicas, which is empty, up to its capacity. Its caller has
// checked that there are so many brokers and an unfenced one, so each round
// over the racks adds a replica.
func (l *rackList) place(replicas []kafka.BrokerID) []kafka.BrokerID {
	l.reshuffle()
	leaderRack := 0
	for i := range l.racks {
		at := (l.offset + i) % len(l.racks)
		if b, ok := l.racks[at].unfenced.next(l.epoch); ok {
			replicas = append(replicas, b)
			leaderRack = at
			break
		}
	}
	skipLeaderRack := true
	for at := l.offset; len(replicas) < cap(replicas); at = (at + 1) % len(l.racks) {
		if at == leaderRack && skipLeaderRack {
			skipLeaderRack = false
			continue
		}
		if b, ok := l.racks[at].next(l.epoch); ok {
			replicas = append(replicas, b)
		}
	}
	l.epoch++
	l.offset = (l.offset + 1) % len(l.racks)
	return replicas
}

// reshuffle changes all orders when each unfenced broker has had a turn as
// leader, lest the same assignments repeat.
func (l *rackList) reshuffle() {
	if l.epoch != l.unfenced || l.unfenced == 1 {
		return
	}
	l.epoch = 0
	l.rng.Shuffle(len(l.racks), func(i, j int) { l.racks[i], l.racks[j] = l.racks[j], l.racks[i] })
	for _, r := range l.racks {
		r.fenced.shuffle(l.rng)
		r.unfenced.shuffle(l.rng)
	}
}

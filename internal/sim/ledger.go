package sim

import (
	"fmt"
	"slices"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/raft"
)

// ledger is what the judge knows of the metadata of a world with controllers.
// Its invariants are numbered as bugs of Kafka's controllers are filed: those that
// the replayed log alone can break are rules, of checker.Metadata; and
//
//   - C5: no AlterPartition of an earlier leader or partition epoch is taken.
//   - C7: an acknowledged AlterPartition is in the log as it was told.
//   - C9: a reassignment ends, once all replicas can be in sync.
//   - C10: producer ids are given once.
//   - C11: a controlled shutdown is granted to a broker that leads nothing, as
//     soon as all active brokers have said that they have seen it.
//   - C12: no request of an earlier registration of a broker is taken.
//   - K8: a node claims only when the first record of its epoch is committed.
//   - K9: a snapshot is the replay of the log below it.
//   - K10: a broker shows what the log holds up to an offset, that of the
//     controllers, and none above what is committed; it does not go back, and
//     shows nothing before it has read all that it knew to be committed once.
//   - K11: at an offset all controllers hold the same metadata, and none above
//     what is committed.
//   - K12: no batch is larger than allowed, and every record replays.
//   - K14: a broker that heartbeats, or waits for the answer to one, is not
//     fenced; one that is silent is.
//   - K15: what was acknowledged is committed.
//
// The rest of the K are those of Raft, see judge.
type ledger struct {
	digests map[kafka.Offset]held // of the metadata below an offset
	last    *metadata.Image       // committed, of the highest offset any controller has replayed
	end     kafka.Offset          // behind it

	rules      *checker.Metadata
	states     map[stateKey]*metadata.Partition
	registered map[registration]bool
	shutdowns  map[registration]shutdown
	fenced     map[registration]bool         // as the controller saw it when it last sent a heartbeat
	reported   map[registration]kafka.Offset // the highest offset that a broker said it has
	blocks     map[int64]bool                // first producer ids given
	asked      map[appended]bool             // batches of unclean elections that were asked for
}

// held is what the first node to come to an offset held, and whether that is a
// broker.
type held struct {
	digest uint64
	broker bool
}

type stateKey struct {
	topic     kafka.UUID
	partition int32
	epoch     kafka.PartitionEpoch
}

type registration struct {
	broker kafka.BrokerID
	epoch  kafka.BrokerEpoch
}

// shutdown is a controlled shutdown: the offset at which it is in the log, and
// who has been active since.
type shutdown struct {
	at     kafka.Offset
	active []registration
}

func newLedger() *ledger {
	return &ledger{
		digests: map[kafka.Offset]held{}, last: metadata.Empty(),
		rules: checker.NewMetadata(), states: map[stateKey]*metadata.Partition{}, registered: map[registration]bool{},
		shutdowns: map[registration]shutdown{}, fenced: map[registration]bool{}, reported: map[registration]kafka.Offset{}, blocks: map[int64]bool{}, asked: map[appended]bool{},
	}
}

// claims looks at a node that is about to be the active controller.
func (j *judge) claims(c *controller, r raft.Role) {
	if known := kafka.Offset(len(j.committed)); r.EpochStart >= known {
		j.fail("K8", c.n.id, "it claims epoch %d, whose first record, at %d, is not committed", r.Epoch, r.EpochStart)
	}
}

// applied looks at what a controller holds behind a committed batch or a
// snapshot.
func (j *judge) applied(c *controller) {
	l, image, next := j.ledger, c.m.Image(), c.n.delivery.Next()
	if known := kafka.Offset(len(j.committed)); next > known || image.Offset() >= known {
		j.fail("K11", c.n.id, "it holds offset %d, %d records are committed", image.Offset(), known)
		return
	}
	if !j.same(c.n, next, image) || next <= l.end {
		return
	}
	old, from := l.last, l.end
	l.last, l.end = image, next
	if image != old {
		j.changed(c, old, image, from)
	}
}

// shows looks at the image that a broker is about to show, where it showed
// b.image.
func (j *judge) shows(b *broker, image *metadata.Image) {
	next := image.Offset() + 1
	j.w.cov.Published++
	switch known := kafka.Offset(len(j.committed)); {
	case next > known:
		j.fail("K10", b.n.id, "it shows offset %d, %d records are committed", image.Offset(), known)
	case next <= b.image.Offset():
		j.fail("K10", b.n.id, "it shows offset %d after %d", image.Offset(), b.image.Offset())
	case !b.caught:
		j.fail("K10", b.n.id, "it shows offset %d before it has read all below %d, which it knows to be committed", image.Offset(), b.n.hw)
	default:
		j.same(b.n, next, image)
	}
}

// same compares the metadata that a node holds of the log below next with that of
// others.
func (j *judge) same(n *node, next kafka.Offset, image *metadata.Image) bool {
	l, digest := j.ledger, image.Digest()
	j.w.trace.Add(uint64(next), digest)
	want, ok := l.digests[next]
	if !ok {
		l.digests[next] = held{digest, n.broker != nil}
		return true
	}
	if want.digest == digest {
		return true
	}
	invariant := "K11"
	switch {
	case n.disk.snapshot.EndOffset == next:
		invariant = "K9"
	case n.broker != nil || want.broker:
		invariant = "K10"
	}
	j.fail(invariant, n.id, "its metadata behind offset %d is not what another node holds", next)
	return false
}

// changed looks at the step from one committed image to the next, by the batch
// that begins at from.
func (j *judge) changed(c *controller, old, image *metadata.Image, from kafka.Offset) {
	rules, first := j.ledger.rules, c.n.disk.at(from)
	epoch := int32(first.epoch)
	rules.UncleanAsked = j.ledger.asked[appended{first.epoch, from}]
	if r, _, err := metadata.ReadRecord(j.w.values[first.value]); err == nil {
		if _, goesOn := r.(*metadata.PartitionChangeRecord); !goesOn {
			rules.Rest(old, epoch)
		}
	}
	rules.Features(image)
	for b := range image.Brokers() {
		was, _ := old.Broker(b.ID)
		rules.Broker(was, b, epoch, from, j.ledger.end)
		j.brokerChanged(was, b, image)
	}
	for t := range image.Topics() {
		was, existed := old.TopicByID(t.ID())
		rules.Topic(t.Name(), t.ID(), existed)
		if was == t {
			continue
		}
		for n, p := range t.All() {
			var before *metadata.Partition
			if existed {
				before, _ = was.Partition(n)
			}
			if before == nil || !before.Equal(p) { // an image of a snapshot shares nothing
				rules.Partition(image, t, n, before, p)
				j.w.cov.eligible(before, p)
				j.w.trace.note("%s-%d is %v, eligible %v, last known %v", t.Name(), n, p, p.ELR(), p.LastKnownELR())
				j.ledger.states[stateKey{t.ID(), n, p.PartitionEpoch}] = p
			}
		}
	}
	j.w.cov.LeadersElected, j.w.cov.Unclean = rules.Elected, rules.Unclean
	if len(rules.Broken) > 0 {
		j.fail(rules.Broken[0].Invariant, c.n.id, "%s", rules.Broken[0].Detail)
	}
}

// brokerChanged follows registrations and controlled shutdowns; was is nil for a
// broker that was not there.
func (j *judge) brokerChanged(was, b *metadata.Broker, image *metadata.Image) {
	l, key := j.ledger, registration{b.ID, b.Epoch}
	again := was != nil && was.Epoch == b.Epoch
	l.registered[key] = true
	if was != nil && was.Active() && (!b.Active() || !again) {
		// Nobody waits for it any more, even if it comes back.
		gone := registration{was.ID, was.Epoch}
		for of, s := range l.shutdowns {
			s.active = slices.DeleteFunc(s.active, func(o registration) bool { return o == gone })
			l.shutdowns[of] = s
		}
	}
	began := b.InControlledShutdown && (!again || !was.InControlledShutdown)
	if !began {
		return
	}
	s := shutdown{at: image.Offset()}
	for o := range image.Brokers() {
		if o.Active() {
			s.active = append(s.active, registration{o.ID, o.Epoch})
		}
	}
	l.shutdowns[key] = s
}

// unsettled says what a healed world has not come to yet, and which invariant
// that breaks if it lasts; "" where all is well.
func (j *judge) unsettled() (invariant, why string) {
	l, image := j.ledger, j.ledger.last
	if image.FeatureLevel(metadata.MetadataVersionFeature) == 0 {
		return "K15", "the log has no metadata.version" // its bootstrap was lost
	}
	for _, n := range j.w.nodes[j.w.p.controllers():] {
		b, ok := image.Broker(kafka.BrokerID(n.id))
		switch {
		case n.broker != nil && n.broker.leaving:
			return "C11", "a broker waits for its shutdown"
		case !ok || n.broker == nil || b.Epoch != n.broker.epoch || !b.Active():
			return "Liveness", "a broker is not active"
		case n.broker.image.Offset() < l.end-maxRecords:
			return "K10", "a broker is behind"
		}
	}
	for tp, p := range image.Partitions() {
		switch {
		case p.Reassigning():
			return "C9", fmt.Sprintf("a reassignment goes on: %v %v", tp, p)
		case p.Leader == kafka.NoLeader:
			return "Liveness", fmt.Sprintf("a partition has no leader: %v %v", tp, p)
		case len(p.ISR) != len(p.Replicas):
			return "Liveness", fmt.Sprintf("a replica is not in sync: %v %v", tp, p)
		}
	}
	return "", ""
}

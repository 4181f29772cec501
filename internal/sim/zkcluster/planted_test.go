package zkcluster

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// edit replaces the only occurrence of old in a file: of the machine, or of this
// package where its models stand for the code around the machine.
type edit struct{ file, old, new string }

// planted is a bug that the simulation must find. It is put into a copy of the
// source, so that the source itself knows nothing of it.
type planted struct {
	name       string
	edits      []edit
	invariants []string // any of them finds it
}

// machine/ names a file of zkcontroller/machine, others are of this package.
var machineDir = filepath.Join("..", "..", "..", "zkcontroller", "machine")

func (e edit) path() string {
	if name, ok := under(e.file, "machine"); ok {
		return filepath.Join(machineDir, name)
	}
	return e.file
}

// plantedBugs are mistakes that controllers of this kind, and what is around
// them, have been written with.
var plantedBugs = []planted{
	{
		name:       "unfenced-zombie-writes",
		edits:      []edit{{"store.go", "return o.fenced(c.version)", "return o"}},
		invariants: []string{"Z2", "Z3"},
	},
	{
		name: "update-metadata-after-leader-and-isr",
		edits: []edit{{
			"machine/failover.go", "	m.sendMetadata(m.ctx.registered(), nil)    // 9: before any LeaderAndIsr (KAFKA-4443)\n", "",
		}},
		invariants: []string{"Z5"},
	},
	{
		name:       "stale-stop-replica-accepted",
		edits:      []edit{{"broker.go", "if code != kafka.None {", "if _, stop := r.e.(*machine.StopReplica); code != kafka.None && !stop {"}},
		invariants: []string{"C5", "C12"},
	},
	{
		name:       "stale-controller-obeyed",
		edits:      []edit{{"broker.go", "if epoch < b.controllerEpoch {", "if epoch < b.controllerEpoch-1 {"}},
		invariants: []string{"C5"},
	},
	{
		name:       "stale-broker-epoch-obeyed",
		edits:      []edit{{"broker.go", "if own < b.epoch {", "if own < 0 {"}},
		invariants: []string{"C12"},
	},
	{
		name:       "stale-leader-epoch-obeyed",
		edits:      []edit{{"broker.go", "p.State.LeaderEpoch <= held.state.LeaderEpoch", "p.State.LeaderEpoch < held.state.LeaderEpoch"}},
		invariants: []string{"C5"},
	},
	{
		name:       "isr-to-empty",
		edits:      []edit{{"machine/replicas.go", "if len(s.ISR) > 1 {", "if len(s.ISR) > 0 {"}},
		invariants: []string{"C3"},
	},
	{
		name:       "lost-watch-after-reconnect",
		edits:      []edit{{"client.go", "		c.rearm()\n", ""}},
		invariants: []string{"Z4", "Z5", "Z6", "Z7", "Z8", "Z10", "C9", "C1", "C3", "acknowledged"},
	},
	{
		name:       "deletion-forgotten-on-failover",
		edits:      []edit{{"machine/failover.go", "orphans := m.queueDeletions(deletions.Topics, true)", "orphans := m.queueDeletions(nil, true)"}},
		invariants: []string{"Z10"},
	},
	{
		name:       "registration-of-a-lost-session-taken-for-the-own",
		edits:      []edit{{"broker_session.go", "case r.owner == b.client.id():", "case r.owner != 0:"}},
		invariants: []string{"Z8", "Z5", "C12"},
	},
	{
		name:       "queue-reordering",
		edits:      []edit{{"sender.go", "	s.queue = append(s.queue, r)\n", "	s.queue = append(s.queue, r)\n	if n := len(s.queue); n > 2 {\n		s.queue[n-1], s.queue[n-2] = s.queue[n-2], s.queue[n-1]\n	}\n"}},
		invariants: []string{"Z6"},
	},
	{
		name:       "request-dropped-on-error",
		edits:      []edit{{"sender.go", "		from.after(w.p.retry, again)\n		return\n", "		from.after(w.p.retry, func() { s.answered(r, answer{code: kafka.UnknownServerError}) })\n		return\n"}},
		invariants: []string{"Z6"},
	},
	{
		name:       "expiry-deadlock",
		edits:      []edit{{"candidate.go", "		c.queue = nil\n		c.put(input{kind: sessionExpired})\n", "		c.queue = nil\n"}},
		invariants: []string{"Z7"},
	},
	{
		name:       "resigns-by-an-old-watch-event",
		edits:      []edit{{"candidate.go", "	case controllerDeleted, controllerChanged:\n		c.elect()\n", "	case controllerDeleted:\n		c.resign()\n		c.elect()\n	case controllerChanged:\n		c.elect()\n"}},
		invariants: []string{"Z7"},
	},
	{
		name:       "leader-epoch-not-bumped",
		edits:      []edit{{"machine/partitions.go", "		next.LeaderEpoch++\n", ""}},
		invariants: []string{"C1", "C2"},
	},
	{
		name:       "leader-epoch-not-bumped-by-a-shrink",
		edits:      []edit{{"machine/replicas.go", "		s.LeaderEpoch++\n", ""}},
		invariants: []string{"C2", "C1", "Z5", "Z9"},
	},
	{
		name:       "elects-a-broker-in-controlled-shutdown",
		edits:      []edit{{"machine/liveness.go", "return c.isUp(p, id) && !c.brokers[id].shuttingDown", "return c.isUp(p, id)"}},
		invariants: []string{"C4", "C11"},
	},
	{
		name:       "controlled-shutdown-granted-at-once",
		edits:      []edit{{"machine/shutdown.go", "		if p.ls.Leader == e.Broker {\n			reply", "		if p.ls.Leader == e.Broker && false {\n			reply"}},
		invariants: []string{"C11"},
	},
	{
		name:       "isr-of-a-former-registration",
		edits:      []edit{{"machine/isr.go", "return m.ctx.isOnline(p, r.ID) &&", "return true ||"}},
		invariants: []string{"C4"},
	},
	{
		name:       "isr-acknowledged-before-it-is-written",
		edits:      []edit{{"machine/isr.go", "			res.State = p.ls\n			written", "			res.State = p.ls\n			res.State.Version++\n			written"}},
		invariants: []string{"C7"},
	},
	{
		name:       "unclean-without-leave",
		edits:      []edit{{"machine/partitions.go", "allowed[t] = asked || m.uncleanAllowed(b.Configs[i])", "allowed[t] = asked || i >= 0"}},
		invariants: []string{"C6"},
	},
	{
		name:       "topic-id-changes",
		edits:      []edit{{"machine/topics.go", "w := TopicWrite{Topic: t.name, ID: t.id,", "w := TopicWrite{Topic: t.name, ID: kafka.UUID{1},"}},
		invariants: []string{"C8"},
	},
	{
		name:       "reassignment-forgotten-on-failover",
		edits:      []edit{{"machine/failover.go", "return !taken[p] }); err", "return !taken[p] && p == nil }); err"}},
		invariants: []string{"C9"},
	},
	{
		name:       "producer-ids-given-twice",
		edits:      []edit{{"machine/elections.go", "First: r.Last + 1, End: r.Last + producerBlock", "First: r.Last + 1, End: max(r.Last, producerBlock)"}},
		invariants: []string{"C10"},
	},
	{
		name:       "epoch-not-raised",
		edits:      []edit{{"server.go", "e.data.(kafka.ControllerEpoch)+1", "e.data.(kafka.ControllerEpoch)"}},
		invariants: []string{"Z1", "C5", "Z7"},
	},
	{
		name:       "lost-reply-taken-for-a-refusal",
		edits:      []edit{{"store_states.go", "if !rs[i].resent || rs[i].err != sign {", "if true {"}},
		invariants: []string{"Z4", "Z5", "Z9", "C1", "C3", "C9", "Z10", "Z6"},
	},
	{
		name:       "isr-asked-anew-after-a-lost-answer",
		edits:      []edit{{"isr.go", "			return // asked again as it was\n", "			b.pending = nil\n			return\n"}},
		invariants: []string{"C3", "Z9"},
	},
	{
		name:       "answers-of-a-former-registration",
		edits:      []edit{{"machine/brokers.go", "(m.cfg.NoBrokerEpochs || b.Epoch == epoch)", "(true || b.Epoch == epoch)"}},
		invariants: []string{"Z10"},
	},
	{
		name:       "no-leader-for-what-moves-before-it-goes",
		edits:      []edit{{"machine/context.go", "return p.topic.queued && (p.topic.deleting || p.moving == nil)", "return p.topic.queued"}},
		invariants: []string{"Z10"},
	},
}

// plant gives the edited content of each file that b touches, by path.
func (b planted) plant() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, e := range b.edits {
		src, ok := out[e.path()]
		if !ok {
			var err error
			if src, err = os.ReadFile(e.path()); err != nil {
				return nil, err
			}
		}
		if n := bytes.Count(src, []byte(e.old)); n != 1 {
			return nil, fmt.Errorf("planted bug %s: %s has %d times %q, not once: write the bug anew", b.name, e.file, n, e.old)
		}
		out[e.path()] = bytes.Replace(src, []byte(e.old), []byte(e.new), 1)
	}
	return out, nil
}

// TestPlantedBugsApply keeps the planted bugs up with the source. That they are
// found is what TestTeeth shows, which builds every one (tag teeth).
func TestPlantedBugsApply(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range plantedBugs {
		if seen[b.name] {
			t.Errorf("two planted bugs are named %s", b.name)
		}
		seen[b.name] = true
		if _, err := b.plant(); err != nil {
			t.Error(err)
		}
	}
}

var huntFlag = flag.Int("hunt", 0, "simulate up to so many seeds until the first violation and print it as TestTeeth reads it")

// TestHunt is what TestTeeth runs in the binaries that it builds.
func TestHunt(t *testing.T) {
	if *huntFlag == 0 {
		t.Skip("runs in the binaries of TestTeeth only")
	}
	for i := range *huntFlag {
		seed := *firstFlag + uint64(i)
		if v := Run(Options{Seed: seed, Events: events}).Violation; v != nil {
			fmt.Printf("HUNT %d %s %s\n", seed, v.Invariant, v)
			return
		}
	}
	fmt.Println("HUNT none")
}

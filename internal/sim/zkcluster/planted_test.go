package zkcluster

import (
	"flag"
	"fmt"
	"testing"

	"kbench/internal/sim/plant"
)

// sourceDir is the root of what bugs are planted in: the machine, and this package
// where its models stand for the code around the machine.
const sourceDir = "../../.."

const (
	machineDir = "zkcontroller/machine/"
	modelDir   = "internal/sim/zkcluster/"
)

// plantedBugs are mistakes that controllers of this kind, and what is around
// them, have been written with.
var plantedBugs = []plant.Bug{
	{
		Name:       "unfenced-zombie-writes",
		Edits:      []plant.Edit{{modelDir + "store.go", "return o.fenced(c.version)", "return o"}},
		Invariants: []string{"Z2", "Z3"},
	},
	{
		Name: "update-metadata-after-leader-and-isr",
		Edits: []plant.Edit{{
			machineDir + "failover.go", "	m.sendMetadata(m.ctx.registered(), nil)    // 9: before any LeaderAndIsr (KAFKA-4443)\n", "",
		}},
		Invariants: []string{"Z5"},
	},
	{
		Name:       "stale-stop-replica-accepted",
		Edits:      []plant.Edit{{modelDir + "broker.go", "if code != kafka.None {", "if _, stop := r.e.(*machine.StopReplica); code != kafka.None && !stop {"}},
		Invariants: []string{"C5", "C12"},
	},
	{
		Name:       "stale-controller-obeyed",
		Edits:      []plant.Edit{{modelDir + "broker.go", "if epoch < b.controllerEpoch {", "if epoch < b.controllerEpoch-1 {"}},
		Invariants: []string{"C5"},
	},
	{
		Name:       "stale-broker-epoch-obeyed",
		Edits:      []plant.Edit{{modelDir + "broker.go", "if own < b.epoch {", "if own < 0 {"}},
		Invariants: []string{"C12"},
	},
	{
		Name:       "stale-leader-epoch-obeyed",
		Edits:      []plant.Edit{{modelDir + "broker.go", "p.State.LeaderEpoch <= held.state.LeaderEpoch", "p.State.LeaderEpoch < held.state.LeaderEpoch"}},
		Invariants: []string{"C5"},
	},
	{
		Name:       "isr-to-empty",
		Edits:      []plant.Edit{{machineDir + "replicas.go", "if len(s.ISR) > 1 {", "if len(s.ISR) > 0 {"}},
		Invariants: []string{"C3"},
	},
	{
		Name:       "lost-watch-after-reconnect",
		Edits:      []plant.Edit{{modelDir + "client.go", "		c.rearm()\n", ""}},
		Invariants: []string{"Z4", "Z5", "Z6", "Z7", "Z8", "Z10", "C9", "C1", "C3", "acknowledged"},
	},
	{
		Name:       "deletion-forgotten-on-failover",
		Edits:      []plant.Edit{{machineDir + "failover.go", "orphans := m.queueDeletions(deletions.Topics, true)", "orphans := m.queueDeletions(nil, true)"}},
		Invariants: []string{"Z10"},
	},
	{
		Name:       "registration-of-a-lost-session-taken-for-the-own",
		Edits:      []plant.Edit{{modelDir + "broker_session.go", "case r.owner == b.client.id():", "case r.owner != 0:"}},
		Invariants: []string{"Z8", "Z5", "C12"},
	},
	{
		Name:       "queue-reordering",
		Edits:      []plant.Edit{{modelDir + "sender.go", "	s.queue = append(s.queue, r)\n", "	s.queue = append(s.queue, r)\n	if n := len(s.queue); n > 2 {\n		s.queue[n-1], s.queue[n-2] = s.queue[n-2], s.queue[n-1]\n	}\n"}},
		Invariants: []string{"Z6"},
	},
	{
		Name:       "request-dropped-on-error",
		Edits:      []plant.Edit{{modelDir + "sender.go", "		from.after(w.p.retry, again)\n		return\n", "		from.after(w.p.retry, func() { s.answered(r, answer{code: kafka.UnknownServerError}) })\n		return\n"}},
		Invariants: []string{"Z6"},
	},
	{
		Name:       "expiry-deadlock",
		Edits:      []plant.Edit{{modelDir + "candidate.go", "		c.queue = nil\n		c.put(input{kind: sessionExpired})\n", "		c.queue = nil\n"}},
		Invariants: []string{"Z7"},
	},
	{
		Name:       "resigns-by-an-old-watch-event",
		Edits:      []plant.Edit{{modelDir + "candidate.go", "	case controllerDeleted, controllerChanged:\n		c.elect()\n", "	case controllerDeleted:\n		c.resign()\n		c.elect()\n	case controllerChanged:\n		c.elect()\n"}},
		Invariants: []string{"Z7"},
	},
	{
		Name:       "leader-epoch-not-bumped",
		Edits:      []plant.Edit{{machineDir + "partitions.go", "		next.LeaderEpoch++\n", ""}},
		Invariants: []string{"C1", "C2"},
	},
	{
		Name:       "leader-epoch-not-bumped-by-a-shrink",
		Edits:      []plant.Edit{{machineDir + "replicas.go", "		s.LeaderEpoch++\n", ""}},
		Invariants: []string{"C2", "C1", "Z5", "Z9"},
	},
	{
		Name:       "elects-a-broker-in-controlled-shutdown",
		Edits:      []plant.Edit{{machineDir + "liveness.go", "return c.isUp(p, id) && !c.brokers[id].shuttingDown", "return c.isUp(p, id)"}},
		Invariants: []string{"C4", "C11"},
	},
	{
		Name:       "controlled-shutdown-granted-at-once",
		Edits:      []plant.Edit{{machineDir + "shutdown.go", "		if p.ls.Leader == e.Broker {\n			reply", "		if p.ls.Leader == e.Broker && false {\n			reply"}},
		Invariants: []string{"C11"},
	},
	{
		Name:       "isr-of-a-former-registration",
		Edits:      []plant.Edit{{machineDir + "isr.go", "return m.ctx.isOnline(p, r.ID) &&", "return true ||"}},
		Invariants: []string{"C4"},
	},
	{
		Name:       "isr-acknowledged-before-it-is-written",
		Edits:      []plant.Edit{{machineDir + "isr.go", "			res.State = p.ls\n			written", "			res.State = p.ls\n			res.State.Version++\n			written"}},
		Invariants: []string{"C7"},
	},
	{
		Name:       "unclean-without-leave",
		Edits:      []plant.Edit{{machineDir + "partitions.go", "allowed[t] = asked || m.uncleanAllowed(b.Configs[i])", "allowed[t] = asked || i >= 0"}},
		Invariants: []string{"C6"},
	},
	{
		Name:       "topic-id-changes",
		Edits:      []plant.Edit{{machineDir + "topics.go", "w := TopicWrite{Topic: t.name, ID: t.id,", "w := TopicWrite{Topic: t.name, ID: kafka.UUID{1},"}},
		Invariants: []string{"C8"},
	},
	{
		Name:       "reassignment-forgotten-on-failover",
		Edits:      []plant.Edit{{machineDir + "failover.go", "return !taken[p] }); err", "return !taken[p] && p == nil }); err"}},
		Invariants: []string{"C9"},
	},
	{
		Name:       "producer-ids-given-twice",
		Edits:      []plant.Edit{{machineDir + "elections.go", "First: r.Last + 1, End: r.Last + producerBlock", "First: r.Last + 1, End: max(r.Last, producerBlock)"}},
		Invariants: []string{"C10"},
	},
	{
		Name:       "epoch-not-raised",
		Edits:      []plant.Edit{{modelDir + "server.go", "e.data.(kafka.ControllerEpoch)+1", "e.data.(kafka.ControllerEpoch)"}},
		Invariants: []string{"Z1", "C5", "Z7"},
	},
	{
		Name:       "lost-reply-taken-for-a-refusal",
		Edits:      []plant.Edit{{modelDir + "store_states.go", "if !rs[i].resent || rs[i].err != sign {", "if true {"}},
		Invariants: []string{"Z4", "Z5", "Z9", "C1", "C3", "C9", "Z10", "Z6"},
	},
	{
		Name:       "isr-asked-anew-after-a-lost-answer",
		Edits:      []plant.Edit{{modelDir + "isr.go", "			return // asked again as it was\n", "			b.pending = nil\n			return\n"}},
		Invariants: []string{"C3", "Z9"},
	},
	{
		Name:       "answers-of-a-former-registration",
		Edits:      []plant.Edit{{machineDir + "brokers.go", "(m.cfg.NoBrokerEpochs || b.Epoch == epoch)", "(true || b.Epoch == epoch)"}},
		Invariants: []string{"Z10"},
	},
	{
		Name:       "no-leader-for-what-moves-before-it-goes",
		Edits:      []plant.Edit{{machineDir + "context.go", "return p.topic.queued && (p.topic.deleting || p.moving == nil)", "return p.topic.queued"}},
		Invariants: []string{"Z10"},
	},
}

// TestPlantedBugsApply keeps the planted bugs up with the source. That they are
// found is what TestTeeth shows, which builds every one (tag teeth).
func TestPlantedBugsApply(t *testing.T) { plant.Check(t, sourceDir, plantedBugs) }

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

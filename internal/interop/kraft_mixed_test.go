package interop

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kbench/harness/provider"
	vocabulary "kbench/kafka"
)

// storyTwoRealOneOurs: a controller of kbench joins three real ones, one of
// which leaves.
func (k *kraft) storyTwoRealOneOurs(t *testing.T) {
	k.join(t, ours1, kafka1, kafka2, kafka3, ours1)
	k.leave(t, kafka3, kafka1, kafka2, ours1)
	k.storm(t, "two-real", kafka1, kafka2, ours1)
}

// storyTwoOursOneReal: another one joins, another real one leaves.
func (k *kraft) storyTwoOursOneReal(t *testing.T) {
	k.join(t, ours2, kafka1, kafka2, ours1, ours2)
	k.beganFromSnapshot(t, ours2)
	k.leave(t, kafka2, kafka1, ours1, ours2)
	k.storm(t, "two-ours", kafka1, ours1, ours2)
}

// storyThreeOurs: the last real controller leaves.
func (k *kraft) storyThreeOurs(t *testing.T) {
	k.join(t, ours3, kafka1, ours1, ours2, ours3)
	k.leave(t, kafka1, ours1, ours2, ours3)
	k.awaitFollowed(t, planeBrokers, "by-three-of-ours")
	k.awaitEqualLogs(t, ours1, ours2, ours3)
}

// storyRealVoterAgain: a real controller with an empty directory begins from a
// snapshot of those of kbench, is taken among them and leaves again.
func (k *kraft) storyRealVoterAgain(t *testing.T) {
	if err := os.RemoveAll(k.dirs[kafka1]); err != nil {
		t.Fatal(err)
	}
	k.format(t, kafka1, joins)
	k.join(t, kafka1, ours1, ours2, ours3, kafka1)
	k.beganFromSnapshot(t, kafka1)
	k.awaitLog(t, kafka1, `Replayed AccessControlEntryRecord .*principal=User:ranged`) // of the newest metadata.version
	k.awaitFollowed(t, planeBrokers, "with-a-real-one-again")
	k.awaitEqualLogs(t, ours1, ours2, ours3, kafka1)
	k.leave(t, kafka1, ours1, ours2, ours3)
}

// beganFromSnapshot fails unless a controller fetched a snapshot before its log.
func (k *kraft) beganFromSnapshot(t *testing.T, id broker) {
	t.Helper()
	r, err := k.replicaOf(id, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.starts) == 0 || r.starts[0] == 0 {
		t.Errorf("controller %d fetched the log from its beginning", id)
	}
}

// join starts a controller, unless it runs, and adds it to the voters.
func (k *kraft) join(t *testing.T, id broker, voters ...broker) {
	t.Helper()
	done := func() {}
	if isReal(id) {
		done = k.faults.begin("a real controller starts")
	}
	if k.nodes[id] == nil {
		k.startController(t, id, joins)
	} else if !k.nodes[id].Running() {
		k.restartController(t, id)
	}
	k.awaitListens(t, id) // the leader asks a voter for its versions before it adds it
	k.awaitQuorum(t, fmt.Sprintf("controller %d observes", id), func(q quorumState) error {
		if !slices.Contains(q.observers, id) {
			return fmt.Errorf("the observers are %d", q.observers)
		}
		return nil
	})
	done()
	wants(t, k.atQuorum(t, kafkaMetadataQuorum, "--command-config", k.ownProperties(t, id), "add-controller"), fmt.Sprintf("Added controller %d", id))
	k.awaitVoters(t, voters...)
}

// ownProperties is the server.properties that tells kafka-metadata-quorum which
// controller it adds. One of kbench has none, so that one is written for it; its
// directory id is read from its meta.properties either way.
func (k *kraft) ownProperties(t *testing.T, id broker) string {
	t.Helper()
	if isReal(id) {
		return filepath.Join(k.dir, k.name(id), "server.properties")
	}
	file := filepath.Join(t.TempDir(), "server.properties")
	p := k.controllerProperties(id)
	p = append(p, provider.Property{Key: "log.dirs", Value: k.dirs[id]})
	if err := os.WriteFile(file, []byte(p.File()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// leave takes a controller from the voters, and ends it.
func (k *kraft) leave(t *testing.T, id broker, left ...broker) {
	t.Helper()
	q := k.awaitLeader(t, 0, append([]broker{id}, left...)...)
	if isReal(id) {
		k.awaitReplayed(t, id, fmt.Sprintf("until-%d-leaves-%d", id, q.highWatermark))
	}
	elected := func() {}
	if q.leader == id {
		elected = k.faults.begin("the leader is removed, and another one elected")
	}
	said := k.atQuorum(t, kafkaMetadataQuorum, "remove-controller",
		"--controller-id", fmt.Sprint(id), "--controller-directory-id", vocabulary.UUID(q.voters[id]).String())
	wants(t, said, fmt.Sprintf("Removed KRaft controller %d", id))
	k.awaitVoters(t, left...)
	elected()
	done := k.faults.begin("a controller that is no voter any more stops")
	k.signal(t, id, provider.Term)
	k.awaitLeader(t, 0, left...)
	done()
}

// awaitReplayed waits until a real controller has replayed a topic that is made
// now. One that is told to stop before closes its log while it still reads it, and
// takes that for a fault.
func (k *kraft) awaitReplayed(t *testing.T, id broker, topic string) {
	t.Helper()
	k.awaitFollowed(t, planeBrokers[:1], topic)
	k.awaitLog(t, id, "Replayed TopicRecord for topic "+topic+" ")
}

// storm has topics written while leaders change by standstill and by death. Both
// kinds must have led at the end, nothing that was acknowledged may be missing,
// and all logs must be the same.
func (k *kraft) storm(t *testing.T, prefix string, voters ...broker) {
	t.Helper()
	w := k.write(t, prefix)
	led := map[broker]bool{}
	w.awaitMore(t, 10)
	k.electBothKinds(t, w, led, voters)
	for _, id := range voters {
		k.killed(t, w, led, id, voters)
	}
	w.awaitKept(t, planeBrokers)
	k.awaitEqualLogs(t, voters...)
	t.Logf("led: %v", led)
	if said := k.atQuorum(t, kafkaMetadataQuorum, "describe", "--replication"); strings.Count(said, "\n") < len(voters)+len(planeBrokers) {
		t.Errorf("there are fewer replicas than nodes:\n%s", said)
	}
}

// electBothKinds pauses leaders until one of each kind has led.
func (k *kraft) electBothKinds(t *testing.T, w *writer, led map[broker]bool, voters []broker) {
	t.Helper()
	const most = 12 // elections
	for range most {
		q := k.awaitLeader(t, 0, voters...)
		led[q.leader] = true
		if ours, real := kinds(led); ours && real {
			return
		}
		done := k.faults.begin("the leader stands still")
		k.pause(t, q.leader)
		k.awaitLeader(t, q.epoch, without(voters, q.leader)...)
		w.awaitMore(t, 5)
		k.resume(t, q.leader)
		k.awaitEqualLogs(t, voters...)
		done()
	}
	t.Fatalf("in %d elections only %v led", most, led)
}

// killed kills a voter, has the others go on, and brings it back.
func (k *kraft) killed(t *testing.T, w *writer, led map[broker]bool, id broker, voters []broker) {
	t.Helper()
	done := k.faults.begin("a voter is killed")
	defer done()
	before := k.awaitLeader(t, 0, voters...)
	led[before.leader] = true
	k.signal(t, id, provider.Kill)
	after := before.epoch - 1
	if before.leader == id {
		after = before.epoch
	}
	led[k.awaitLeader(t, after, without(voters, id)...).leader] = true
	w.awaitMore(t, 10)
	k.restartController(t, id)
	k.awaitEqualLogs(t, voters...)
	k.awaitListens(t, id)
	w.awaitMore(t, 5)
}

func without(ids []broker, gone broker) []broker {
	return slices.DeleteFunc(slices.Clone(ids), func(id broker) bool { return id == gone })
}

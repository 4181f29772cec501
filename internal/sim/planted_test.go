package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// edit replaces the only occurrence of old in a file below sourceDir.
type edit struct{ file, old, new string }

// planted is a bug that the simulation must find. It is put into a copy of the
// source, so that the source itself knows nothing of it.
type planted struct {
	name       string
	edits      []edit
	invariants []string // any of them finds it
	metadata   bool     // it is found in a world with metadata
}

// plantedBugs are mistakes that a Raft is written with. Those of the first six
// are the ones that every change of the simulation must go on finding; most of
// the rest have been made by somebody.
var plantedBugs = []planted{
	{
		name: "vote-not-persisted",
		edits: []edit{{
			"raft/transition.go", "\t\tm.eff.Persist = &q\n",
			"\t\tif q.VotedKey.ID == None || q.LeaderID != None {\n\t\t\tm.eff.Persist = &q\n\t\t}\n",
		}},
		invariants: []string{"VoteOncePerEpoch", "ElectionSafety"},
	},
	{
		name:       "high-watermark-before-leader-change",
		edits:      []edit{{"raft/leader.go", "hw <= m.lead.epochStart || hw <= m.lead.hw", "hw <= m.lead.hw"}},
		invariants: []string{"HighWatermarkMonotonic", "LeaderCompleteness"},
	},
	{
		name: "truncation-below-high-watermark",
		edits: []edit{
			{"raft/follower.go", "to < m.hw || to < m.log.start", "to < m.log.start"},
			{"raft/epochs.go", "return min(local.EndOffset, end.EndOffset)", "return min(local.EndOffset, end.EndOffset, max(l.start, l.end-8))"},
		},
		invariants: []string{"CommittedNeverTruncated"},
	},
	{
		name:       "double-vote",
		edits:      []edit{{"raft/election.go", "return m.voted.includes(candidate)", "return true"}},
		invariants: []string{"VoteOncePerEpoch", "ElectionSafety"},
	},
	{
		name:       "ack-before-fsync",
		edits:      []edit{{"raft/follower.go", " && (!m.mustFlush() || m.flushed >= m.log.end)", ""}},
		invariants: []string{"AckedDurable"},
	},
	{
		name:       "stale-leader-answers",
		edits:      []edit{{"raft/request.go", "case epoch > m.epoch:\n\t\treturn kafka.UnknownLeaderEpoch\n", ""}},
		invariants: []string{"NoStaleLeaderAnswer"},
	},
	{
		name:       "leader-counts-itself-before-fsync",
		edits:      []edit{{"raft/leader.go", "end = m.flushed", "end = m.log.end"}},
		invariants: []string{"AckedDurable"},
	},
	{
		name:       "no-check-quorum",
		edits:      []edit{{"raft/leader.go", "return at[need-1] + m.cfg.FetchTimeout*3/2", "return Never"}},
		invariants: []string{"CheckQuorum"},
	},
	{
		name:       "vote-for-a-shorter-log",
		edits:      []edit{{"raft/election.go", " || (r.LastEpoch == m.log.lastEpoch() && r.LastOffset < m.log.end)", ""}},
		invariants: []string{"LeaderCompleteness"},
	},
	{
		name:       "vote-for-an-older-log",
		edits:      []edit{{"raft/election.go", "r.LastEpoch < m.log.lastEpoch() || (r.LastEpoch == m.log.lastEpoch() && r.LastOffset < m.log.end)", "r.LastOffset < m.log.end"}},
		invariants: []string{"LeaderCompleteness", "CommittedNeverTruncated"},
	},
	{
		name:       "half-is-a-majority",
		edits:      []edit{{"raft/election.go", "return len(m.voters)/2 + 1", "return (len(m.voters) + 1) / 2"}},
		invariants: []string{"ElectionSafety", "AckedDurable"},
	},
	{
		name:       "resigned-node-appends",
		edits:      []edit{{"raft/leader.go", "m.state != Leader || a.Epoch != m.epoch", "a.Epoch != m.epoch"}},
		invariants: []string{"NoStaleLeaderAnswer", "LogMatching"},
	},
	{
		name:       "diverged-epoch-not-noticed",
		edits:      []edit{{"raft/epochs.go", "end.Epoch != epoch || end.EndOffset < offset", "end.EndOffset < offset"}},
		invariants: []string{"LogMatching", "StateMachineSafety", "HighWatermarkMonotonic", "Liveness"},
	},
	{
		name:       "diverged-end-not-noticed",
		edits:      []edit{{"raft/epochs.go", "end.Epoch != epoch || end.EndOffset < offset", "end.Epoch != epoch"}},
		invariants: []string{"HighWatermarkMonotonic", "LogMatching", "AckedDurable", "Liveness"},
	},
	{
		name:       "follower-believes-high-watermark",
		edits:      []edit{{"raft/follower.go", "m.hw = max(m.hw, min(hw, m.log.end))", "m.hw = max(m.hw, hw)"}},
		invariants: []string{"HighWatermarkMonotonic"},
	},
	{
		name:       "leader-resumes-its-epoch",
		edits:      []edit{{"raft/machine.go", "case m.leaderID == m.cfg.NodeID && m.isVoter:\n\t\tm.enterResigned(nil)\n", "case m.leaderID == m.cfg.NodeID && m.isVoter:\n\t\tm.leaderID = None\n\t\tm.enterNominee(Candidate)\n"}},
		invariants: []string{"ElectionSafety", "Liveness"},
	},
	{
		name:       "voters-count-when-committed",
		edits:      []edit{{"raft/quorum.go", "\t\tm.history = append(m.history, m.history[len(m.history)-1].with(c))\n\t}\n\tm.useQuorum()\n", "\t\tm.history = append(m.history, m.history[len(m.history)-1].with(c))\n\t}\n\tif m.state != Leader {\n\t\tm.useQuorum()\n\t}\n"}},
		invariants: []string{"AckedDurable", "VotersOnly", "CheckQuorum", "OneVoterChange"},
	},
	{
		name:       "truncation-keeps-the-voters",
		edits:      []edit{{"raft/machine.go", "\tm.truncateQuorum(to)\n", ""}},
		invariants: []string{"VotersOnly", "AckedDurable", "OneVoterChange", "SnapshotIsPrefix", "LogMatching"},
	},
	{
		name:       "observer-counts-for-the-high-watermark",
		edits:      []edit{{"raft/leader.go", "\tm.scratchEnd = ends\n\tslices.Sort(ends)\n", "\tfor _, p := range m.lead.observers {\n\t\tends = append(ends, p.end)\n\t}\n\tm.scratchEnd = ends\n\tslices.Sort(ends)\n"}},
		invariants: []string{"AckedDurable"},
	},
	{
		name:       "two-voter-changes-at-once",
		edits:      []edit{{"raft/voterchange.go", "return m.history[len(m.history)-1].offset >= m.lead.hw", "return false"}},
		invariants: []string{"OneVoterChange"},
	},
	{
		name: "voters-change-before-the-epoch-commits",
		edits: []edit{
			{"raft/voterchange.go", "m.lead.hw == kafka.NoOffset", "m.hw == kafka.NoOffset"},
			{"raft/voterchange.go", "return m.history[len(m.history)-1].offset >= m.lead.hw", "return m.history[len(m.history)-1].offset >= m.hw"},
		},
		invariants: []string{"OneVoterChange"},
	},
	{
		name:       "removed-voter-campaigns",
		edits:      []edit{{"raft/transition.go", "return m.isVoter && !m.leaving", "return !m.leaving"}},
		invariants: []string{"VotersOnly"},
	},
	{
		name:       "snapshot-forgets-the-voters",
		edits:      []edit{{"raft/snapshot.go", "Persisted{Snapshot: id, Quorum: q}", "Persisted{Snapshot: id, Quorum: m.history[0].Quorum}"}},
		invariants: []string{"VotersOnly", "AckedDurable", "OneVoterChange", "Liveness", "CheckQuorum"},
	},
	{
		name:       "election-timeout-without-jitter",
		edits:      []edit{{"raft/transition.go", "return t + time.Duration(m.rng.Int64N(int64(t)))", "return t"}},
		invariants: []string{"Liveness"},
	},
	{
		name:       "broker-sees-above-the-high-watermark",
		edits:      []edit{{"raft/fetch.go", "\ta.HighWatermark = m.lead.hw\n", "\ta.HighWatermark = m.log.end\n"}},
		invariants: []string{"HighWatermarkMonotonic", "K10"},
	},
	{
		name:       "image-above-the-high-watermark",
		edits:      []edit{{"machine/machine.go", "func (m *Machine) Image() *metadata.Image { return m.log.committed.visible() }", "func (m *Machine) Image() *metadata.Image { return m.log.head().visible() }"}},
		invariants: []string{"K10", "K11"},
		metadata:   true,
	},
	{
		name:       "revert-lost-on-renounce",
		edits:      []edit{{"machine/state.go", "func (s *state) revert() {\n\ts.pending = nil\n", "func (s *state) revert() {\n\tif n := len(s.pending); n > 0 {\n\t\ts.committed.image = s.pending[n-1].image\n\t}\n\ts.pending = nil\n"}},
		invariants: []string{"K10", "K11", "K12"},
		metadata:   true,
	},
	{
		name:       "shutdown-offset-moves-with-each-heartbeat",
		edits:      []edit{{"machine/heartbeat.go", "if next == controlledShutdown && next != current {", "if next == controlledShutdown {"}},
		invariants: []string{"C11"},
		metadata:   true,
	},
	{
		name:       "shutdown-granted-before-all-have-seen-it",
		edits:      []edit{{"machine/heartbeat.go", " && m.sessions.brokers[b.ID].shutdownOffset <= m.sessions.lowestActive(m.image())", ""}},
		invariants: []string{"C11"},
		metadata:   true,
	},
	{
		name:       "shutdown-granted-by-a-new-leader-that-has-heard-nobody",
		edits:      []edit{{"machine/session.go", "lastContact: now, seen: kafka.NoOffset,", "lastContact: now, seen: math.MaxInt64,"}},
		invariants: []string{"C11"},
		metadata:   true,
	},
	{
		name:       "oversized-batch",
		edits:      []edit{{"machine/decision.go", "len(w.records) == w.m.cfg.MaxRecords ||", "len(w.records) > w.m.cfg.MaxRecords ||"}},
		invariants: []string{"K12"},
		metadata:   true,
	},
	{
		name:       "answer-before-the-commit",
		edits:      []edit{{"machine/decision.go", "if d.immediate || !m.log.uncommitted() {", "if d.immediate || d.response != nil {"}},
		invariants: []string{"K15", "C7", "C11"},
		metadata:   true,
	},
	{
		name:       "fenced-broker-in-the-isr",
		edits:      []edit{{"machine/alterpartition.go", "if !ok || !b.Active() || epochs[i]", "if !ok || epochs[i]"}},
		invariants: []string{"C4"},
		metadata:   true,
	},
	{
		name:       "fenced-broker-is-elected",
		edits:      []edit{{"machine/electorate.go", "if b, ok := m.image().Broker(id); ok && b.Active() {", "if b, ok := m.image().Broker(id); ok {"}},
		invariants: []string{"C4", "C9", "Liveness"},
		metadata:   true,
	},
	{
		name:       "broker-epoch-of-the-committed-offset",
		edits:      []edit{{"machine/registration.go", "BrokerEpoch: kafka.BrokerEpoch(m.log.head().last + 1)", "BrokerEpoch: kafka.BrokerEpoch(m.log.committed.last + 1)"}},
		invariants: []string{"K13"},
		metadata:   true,
	},
	{
		name:       "sessions-do-not-hear-heartbeats",
		edits:      []edit{{"machine/session.go", "\tb.lastContact, b.seen = now, seen\n", "\tb.seen = seen\n"}},
		invariants: []string{"K14"},
		metadata:   true,
	},
	{
		name:       "silent-broker-is-not-fenced",
		edits:      []edit{{"machine/session.go", "\ts.due = oldest + s.timeout\n", "\ts.due = oldest + 2*s.timeout\n"}},
		invariants: []string{"K14"},
		metadata:   true,
	},
	{
		name:       "leader-in-an-offline-directory",
		edits:      []edit{{"machine/electorate.go", "return b != nil && b.HasOnlineDirectory(p.Directory(id))", "return b != nil"}},
		invariants: []string{"K16"},
		metadata:   true,
	},
	{
		name:       "unclean-leader-keeps-the-isr",
		edits:      []edit{{"machine/partitionchange.go", "\t\tc.recovery = kafka.Recovering\n\t\treturn nil\n", "\t\treturn nil\n"}},
		invariants: []string{"C6"},
		metadata:   true,
	},
	{
		name:       "producer-ids-before-they-are-committed",
		edits:      []edit{{"machine/electleaders.go", "NextProducerID: next + producerIDBlock}", "NextProducerID: next + 1}"}},
		invariants: []string{"C10", "K15"},
		metadata:   true,
	},
	{
		name:       "log-empty-flag-outlives-the-revert",
		edits:      []edit{{"machine/leadership.go", "if head.visible().FeatureLevel(metadata.MetadataVersionFeature) == 0 {", "if head.visible().FeatureLevel(metadata.MetadataVersionFeature) == 0 && m.log.unclean == 0 {\n\t\tm.log.unclean = 1"}},
		invariants: []string{"Liveness", "K12", "K11"},
		metadata:   true,
	},
}

var sourceDir = filepath.Join("..", "..", "kraftcontroller")

// plant gives the edited content of each file that b touches, by file name.
func (b planted) plant() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, e := range b.edits {
		src, ok := out[e.file]
		if !ok {
			var err error
			if src, err = os.ReadFile(filepath.Join(sourceDir, e.file)); err != nil {
				return nil, err
			}
		}
		if n := bytes.Count(src, []byte(e.old)); n != 1 {
			return nil, fmt.Errorf("planted bug %s: %s has %d times %q, not once: write the bug anew", b.name, e.file, n, e.old)
		}
		out[e.file] = bytes.Replace(src, []byte(e.old), []byte(e.new), 1)
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

// huntOptions are those of a seed that is hunted for.
func huntOptions(seed uint64, metadata bool) Options {
	if metadata {
		return Options{Seed: seed, Events: metadataEvents, Metadata: true}
	}
	return Options{Seed: seed, Events: events}
}

var huntMetadata = flag.Bool("hunt-metadata", false, "hunt in worlds with metadata")

// TestHunt is what TestTeeth runs in the binaries that it builds.
func TestHunt(t *testing.T) {
	if *huntFlag == 0 {
		t.Skip("runs in the binaries of TestTeeth only")
	}
	for i := range *huntFlag {
		seed := *firstFlag + uint64(i)
		if v := Run(huntOptions(seed, *huntMetadata)).Violation; v != nil {
			fmt.Printf("HUNT %d %s %s\n", seed, v.Invariant, v)
			return
		}
	}
	fmt.Println("HUNT none")
}

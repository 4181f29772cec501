package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// edit replaces the only occurrence of old in a file of the raft package.
type edit struct{ file, old, new string }

// planted is a bug that the simulation must find. It is put into a copy of the
// source, so that the source itself knows nothing of it.
type planted struct {
	name       string
	edits      []edit
	invariants []string // any of them finds it
}

// plantedBugs are mistakes that a Raft is written with. Those of the first six
// are the ones that every change of the simulation must go on finding; most of
// the rest have been made by somebody.
var plantedBugs = []planted{
	{
		name: "vote-not-persisted",
		edits: []edit{{
			"transition.go", "\t\tm.eff.Persist = &q\n",
			"\t\tif q.VotedKey.ID == None || q.LeaderID != None {\n\t\t\tm.eff.Persist = &q\n\t\t}\n",
		}},
		invariants: []string{"VoteOncePerEpoch", "ElectionSafety"},
	},
	{
		name:       "high-watermark-before-leader-change",
		edits:      []edit{{"leader.go", "hw <= m.lead.epochStart || hw <= m.lead.hw", "hw <= m.lead.hw"}},
		invariants: []string{"HighWatermarkMonotonic", "LeaderCompleteness"},
	},
	{
		name: "truncation-below-high-watermark",
		edits: []edit{
			{"follower.go", "to < m.hw || to < m.log.start", "to < m.log.start"},
			{"epochs.go", "return min(local.EndOffset, end.EndOffset)", "return min(local.EndOffset, end.EndOffset, max(l.start, l.end-8))"},
		},
		invariants: []string{"CommittedNeverTruncated"},
	},
	{
		name:       "double-vote",
		edits:      []edit{{"election.go", "return m.voted.includes(candidate)", "return true"}},
		invariants: []string{"VoteOncePerEpoch", "ElectionSafety"},
	},
	{
		name:       "ack-before-fsync",
		edits:      []edit{{"follower.go", " && (!m.mustFlush() || m.flushed >= m.log.end)", ""}},
		invariants: []string{"AckedDurable"},
	},
	{
		name:       "stale-leader-answers",
		edits:      []edit{{"request.go", "case epoch > m.epoch:\n\t\treturn kafka.UnknownLeaderEpoch\n", ""}},
		invariants: []string{"NoStaleLeaderAnswer"},
	},
	{
		name:       "leader-counts-itself-before-fsync",
		edits:      []edit{{"leader.go", "end = m.flushed", "end = m.log.end"}},
		invariants: []string{"AckedDurable"},
	},
	{
		name:       "no-check-quorum",
		edits:      []edit{{"leader.go", "return at[need-1] + m.cfg.FetchTimeout*3/2", "return Never"}},
		invariants: []string{"CheckQuorum"},
	},
	{
		name:       "vote-for-a-shorter-log",
		edits:      []edit{{"election.go", " || (r.LastEpoch == m.log.lastEpoch() && r.LastOffset < m.log.end)", ""}},
		invariants: []string{"LeaderCompleteness"},
	},
	{
		name:       "vote-for-an-older-log",
		edits:      []edit{{"election.go", "r.LastEpoch < m.log.lastEpoch() || (r.LastEpoch == m.log.lastEpoch() && r.LastOffset < m.log.end)", "r.LastOffset < m.log.end"}},
		invariants: []string{"LeaderCompleteness", "CommittedNeverTruncated"},
	},
	{
		name:       "half-is-a-majority",
		edits:      []edit{{"election.go", "return len(m.voters)/2 + 1", "return (len(m.voters) + 1) / 2"}},
		invariants: []string{"ElectionSafety", "AckedDurable"},
	},
	{
		name:       "resigned-node-appends",
		edits:      []edit{{"leader.go", "m.state != Leader || a.Epoch != m.epoch", "a.Epoch != m.epoch"}},
		invariants: []string{"NoStaleLeaderAnswer", "LogMatching"},
	},
	{
		name:       "diverged-epoch-not-noticed",
		edits:      []edit{{"epochs.go", "end.Epoch != epoch || end.EndOffset < offset", "end.EndOffset < offset"}},
		invariants: []string{"LogMatching", "StateMachineSafety", "HighWatermarkMonotonic", "Liveness"},
	},
	{
		name:       "diverged-end-not-noticed",
		edits:      []edit{{"epochs.go", "end.Epoch != epoch || end.EndOffset < offset", "end.Epoch != epoch"}},
		invariants: []string{"HighWatermarkMonotonic", "LogMatching", "AckedDurable", "Liveness"},
	},
	{
		name:       "follower-believes-high-watermark",
		edits:      []edit{{"follower.go", "m.hw = max(m.hw, min(hw, m.log.end))", "m.hw = max(m.hw, hw)"}},
		invariants: []string{"HighWatermarkMonotonic"},
	},
	{
		name:       "leader-resumes-its-epoch",
		edits:      []edit{{"machine.go", "case m.leaderID == m.cfg.NodeID && m.isVoter:\n\t\tm.enterResigned(nil)\n", "case m.leaderID == m.cfg.NodeID && m.isVoter:\n\t\tm.leaderID = None\n\t\tm.enterNominee(Candidate)\n"}},
		invariants: []string{"ElectionSafety", "Liveness"},
	},
	{
		name:       "voters-count-when-committed",
		edits:      []edit{{"quorum.go", "\t\tm.history = append(m.history, m.history[len(m.history)-1].with(c))\n\t}\n\tm.useQuorum()\n", "\t\tm.history = append(m.history, m.history[len(m.history)-1].with(c))\n\t}\n\tif m.state != Leader {\n\t\tm.useQuorum()\n\t}\n"}},
		invariants: []string{"AckedDurable", "VotersOnly", "CheckQuorum", "OneVoterChange"},
	},
	{
		name:       "truncation-keeps-the-voters",
		edits:      []edit{{"machine.go", "\tm.truncateQuorum(to)\n", ""}},
		invariants: []string{"VotersOnly", "AckedDurable", "OneVoterChange", "SnapshotIsPrefix", "LogMatching"},
	},
	{
		name:       "observer-counts-for-the-high-watermark",
		edits:      []edit{{"leader.go", "\tm.scratchEnd = ends\n\tslices.Sort(ends)\n", "\tfor _, p := range m.lead.observers {\n\t\tends = append(ends, p.end)\n\t}\n\tm.scratchEnd = ends\n\tslices.Sort(ends)\n"}},
		invariants: []string{"AckedDurable"},
	},
	{
		name:       "two-voter-changes-at-once",
		edits:      []edit{{"voterchange.go", "return m.history[len(m.history)-1].offset >= m.lead.hw", "return false"}},
		invariants: []string{"OneVoterChange"},
	},
	{
		name: "voters-change-before-the-epoch-commits",
		edits: []edit{
			{"voterchange.go", "m.lead.hw == kafka.NoOffset", "m.hw == kafka.NoOffset"},
			{"voterchange.go", "return m.history[len(m.history)-1].offset >= m.lead.hw", "return m.history[len(m.history)-1].offset >= m.hw"},
		},
		invariants: []string{"OneVoterChange"},
	},
	{
		name:       "removed-voter-campaigns",
		edits:      []edit{{"transition.go", "return m.isVoter && !m.leaving", "return !m.leaving"}},
		invariants: []string{"VotersOnly"},
	},
	{
		name:       "snapshot-forgets-the-voters",
		edits:      []edit{{"snapshot.go", "Persisted{Snapshot: id, Quorum: q}", "Persisted{Snapshot: id, Quorum: m.history[0].Quorum}"}},
		invariants: []string{"VotersOnly", "AckedDurable", "OneVoterChange", "Liveness", "CheckQuorum"},
	},
	{
		name:       "election-timeout-without-jitter",
		edits:      []edit{{"transition.go", "return t + time.Duration(m.rng.Int64N(int64(t)))", "return t"}},
		invariants: []string{"Liveness"},
	},
}

var raftDir = filepath.Join("..", "..", "kraftcontroller", "raft")

// plant gives the edited content of each file that b touches, by file name.
func (b planted) plant() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, e := range b.edits {
		src, ok := out[e.file]
		if !ok {
			var err error
			if src, err = os.ReadFile(filepath.Join(raftDir, e.file)); err != nil {
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

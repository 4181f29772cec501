package sim

import (
	"slices"

	"kbench/internal/sim/seeded"
	"kbench/kafka"
	"kbench/kafka/metadata"
)

// Coverage counts what a run, or many, went through: a simulation that proves
// nothing shows it here.
type Coverage struct {
	Seeds, Events                    int64
	Elections, Candidacies, PreVotes int64 // won; started; pre-votes started
	Commits, Appends, Refused        int64 // records committed first; batches appended by clients; appends refused
	Truncations, RecordsTruncated    int64
	Crashes, MidStepCrashes          int64 // all; between two effects of one step
	RecordsLost                      int64 // unsynced, in crashes
	Partitions, Pauses               int64
	Lost, Duplicated                 int64 // messages
	Resignations, Shutdowns          int64
	Snapshots, Installs              int64 // taken; fetched from a leader
	SlowDisks, ParkedExpired         int64
	DiskErrors                       int64 // fsyncs that failed, fatal to the node
	Skewed                           int64 // lives with a clock that is not right
	VoterChanges, VotersRefused      int64 // answers to AddRaftVoter and RemoveRaftVoter
	SelfRemovals                     int64 // leaders that resigned because they are voters no more
	Stuck                            int64 // quorums that wait for such a leader, see world.stuck

	// Of a world with metadata.
	Claims, Renounced       int64 // controllers made active; made standbys
	Registrations           int64 // of brokers, acknowledged
	Fenced, Unfenced        int64 // brokers
	Granted                 int64 // controlled shutdowns
	DirectoriesLost         int64
	Topics, ISRChanges      int64 // acknowledged
	LeadersElected, Unclean int64 // leaders of partitions, and those that may have lost records
	Loads                   int64 // snapshots loaded
	Published, Held         int64 // images, by brokers; commits of which they showed nothing, in a transaction
	TxnsAborted             int64 // metadata transactions that a controller found open
	// Of eligible leader replicas (KIP-966): partitions that came to have some,
	// leaders elected from them, last known leaders elected.
	Eligible, FromELR, LastKnown int64
	ELRSwitches, Upgrades        int64 // acknowledged levels: of the ELR; of metadata.version
	ACLs, Scrams, Quotas, Tokens int64 // operations acknowledged
	Unregistered                 int64 // brokers, acknowledged
	Late, LateBrokers            int64 // ISRs of earlier epochs asked for; requests of earlier registrations
}

// rows names every counter once.
func (c *Coverage) rows() seeded.Tally {
	return seeded.Tally{
		{Name: "seeds", N: &c.Seeds},
		{Name: "events", N: &c.Events},
		{Name: "elections", N: &c.Elections},
		{Name: "candidacies", N: &c.Candidacies},
		{Name: "pre-votes", N: &c.PreVotes},
		{Name: "commits", N: &c.Commits},
		{Name: "appends", N: &c.Appends},
		{Name: "refused appends", N: &c.Refused},
		{Name: "truncations", N: &c.Truncations},
		{Name: "records truncated", N: &c.RecordsTruncated},
		{Name: "crashes", N: &c.Crashes},
		{Name: "crashes within a step", N: &c.MidStepCrashes},
		{Name: "unsynced records lost", N: &c.RecordsLost},
		{Name: "partitions", N: &c.Partitions},
		{Name: "pauses", N: &c.Pauses},
		{Name: "messages lost", N: &c.Lost},
		{Name: "messages duplicated", N: &c.Duplicated},
		{Name: "resignations", N: &c.Resignations},
		{Name: "shutdowns", N: &c.Shutdowns},
		{Name: "snapshots taken", N: &c.Snapshots},
		{Name: "snapshots installed", N: &c.Installs},
		{Name: "slow disks", N: &c.SlowDisks},
		{Name: "empty fetch answers", N: &c.ParkedExpired},
		{Name: "disk errors", N: &c.DiskErrors},
		{Name: "skewed clocks", N: &c.Skewed},
		{Name: "voter changes", N: &c.VoterChanges},
		{Name: "voter changes refused", N: &c.VotersRefused},
		{Name: "leaders removed", N: &c.SelfRemovals},
		{Name: "stuck by a removal", N: &c.Stuck},
		{Name: "claims", N: &c.Claims},
		{Name: "renounced", N: &c.Renounced},
		{Name: "broker registrations", N: &c.Registrations},
		{Name: "brokers fenced", N: &c.Fenced},
		{Name: "brokers unfenced", N: &c.Unfenced},
		{Name: "shutdowns granted", N: &c.Granted},
		{Name: "directories lost", N: &c.DirectoriesLost},
		{Name: "topics created", N: &c.Topics},
		{Name: "ISRs changed", N: &c.ISRChanges},
		{Name: "partition leaders", N: &c.LeadersElected},
		{Name: "unclean leaders", N: &c.Unclean},
		{Name: "snapshots loaded", N: &c.Loads},
		{Name: "images published", N: &c.Published},
		{Name: "commits held back", N: &c.Held},
		{Name: "transactions aborted", N: &c.TxnsAborted},
		{Name: "partitions with an ELR", N: &c.Eligible},
		{Name: "leaders from the ELR", N: &c.FromELR},
		{Name: "last known leaders", N: &c.LastKnown},
		{Name: "ELR levels", N: &c.ELRSwitches},
		{Name: "metadata.version levels", N: &c.Upgrades},
		{Name: "ACL operations", N: &c.ACLs},
		{Name: "SCRAM operations", N: &c.Scrams},
		{Name: "quota operations", N: &c.Quotas},
		{Name: "token operations", N: &c.Tokens},
		{Name: "brokers unregistered", N: &c.Unregistered},
		{Name: "ISRs asked for too late", N: &c.Late},
		{Name: "requests of bounced brokers", N: &c.LateBrokers},
	}
}

// eligible counts what a change of a partition has to do with eligible leader
// replicas; old is nil for a new one.
func (c *Coverage) eligible(old, p *metadata.Partition) {
	if old == nil {
		return
	}
	if len(p.ELR()) > 0 && len(old.ELR()) == 0 {
		c.Eligible++
	}
	if p.Leader == old.Leader || p.Leader == kafka.NoLeader || slices.Contains(old.ISR, p.Leader) {
		return
	}
	if slices.Contains(old.ELR(), p.Leader) {
		c.FromELR++
	} else if slices.Contains(old.LastKnownELR(), p.Leader) {
		c.LastKnown++
	}
}

// Add adds o to c.
func (c *Coverage) Add(o Coverage) { c.rows().Add(o.rows()) }

// Below lists the counters of c that are below those of floor.
func (c Coverage) Below(floor Coverage) []string { return c.rows().Below(floor.rows()) }

// PerSeed gives a floor for n seeds out of one that is stated for 1,000.
func (c Coverage) PerSeed(n int64) Coverage {
	c.rows().Scale(n)
	return c
}

// String is a table, one counter a line.
func (c Coverage) String() string { return c.rows().String() }

package sim

import (
	"fmt"
	"strings"
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
	Loads                   int64 // snapshots loaded into a machine
}

// rows names every counter once.
func (c *Coverage) rows() []struct {
	name string
	n    *int64
} {
	return []struct {
		name string
		n    *int64
	}{
		{"seeds", &c.Seeds},
		{"events", &c.Events},
		{"elections", &c.Elections},
		{"candidacies", &c.Candidacies},
		{"pre-votes", &c.PreVotes},
		{"commits", &c.Commits},
		{"appends", &c.Appends},
		{"refused appends", &c.Refused},
		{"truncations", &c.Truncations},
		{"records truncated", &c.RecordsTruncated},
		{"crashes", &c.Crashes},
		{"crashes within a step", &c.MidStepCrashes},
		{"unsynced records lost", &c.RecordsLost},
		{"partitions", &c.Partitions},
		{"pauses", &c.Pauses},
		{"messages lost", &c.Lost},
		{"messages duplicated", &c.Duplicated},
		{"resignations", &c.Resignations},
		{"shutdowns", &c.Shutdowns},
		{"snapshots taken", &c.Snapshots},
		{"snapshots installed", &c.Installs},
		{"slow disks", &c.SlowDisks},
		{"empty fetch answers", &c.ParkedExpired},
		{"disk errors", &c.DiskErrors},
		{"skewed clocks", &c.Skewed},
		{"voter changes", &c.VoterChanges},
		{"voter changes refused", &c.VotersRefused},
		{"leaders removed", &c.SelfRemovals},
		{"stuck by a removal", &c.Stuck},
		{"claims", &c.Claims},
		{"renounced", &c.Renounced},
		{"broker registrations", &c.Registrations},
		{"brokers fenced", &c.Fenced},
		{"brokers unfenced", &c.Unfenced},
		{"shutdowns granted", &c.Granted},
		{"directories lost", &c.DirectoriesLost},
		{"topics created", &c.Topics},
		{"ISRs changed", &c.ISRChanges},
		{"partition leaders", &c.LeadersElected},
		{"unclean leaders", &c.Unclean},
		{"snapshots loaded", &c.Loads},
	}
}

// Add adds o to c.
func (c *Coverage) Add(o Coverage) {
	from := o.rows()
	for i, r := range c.rows() {
		*r.n += *from[i].n
	}
}

// Below lists the counters of c that are below those of floor.
func (c Coverage) Below(floor Coverage) []string {
	var low []string
	want := floor.rows()
	for i, r := range c.rows() {
		if *r.n < *want[i].n {
			low = append(low, fmt.Sprintf("%s: %d, floor %d", r.name, *r.n, *want[i].n))
		}
	}
	return low
}

// PerSeed gives a floor for n seeds out of one that is stated for 1,000.
func (c Coverage) PerSeed(n int64) Coverage {
	for _, r := range c.rows() {
		*r.n = *r.n * n / 1000
	}
	return c
}

// String is a table, one counter a line.
func (c Coverage) String() string {
	var b strings.Builder
	for _, r := range c.rows() {
		fmt.Fprintf(&b, "%-22s %12d\n", r.name, *r.n)
	}
	return b.String()
}

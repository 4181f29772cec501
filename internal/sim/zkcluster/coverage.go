package zkcluster

import (
	"fmt"
	"strings"
)

// Coverage counts what a run, or many, went through: a simulation that proves
// nothing shows it here.
type Coverage struct {
	Seeds, Events                                                 int64
	Elections, LostElections, Failovers, GiveUps                  int64 // won; of which the reply was lost; finished
	Expiries, ExpiriesMidMulti, Disconnects, Reconnects           int64
	Watches, LostReplies                                          int64 // events delivered; writes done, answer lost
	Fenced, ZombieWrites, ZombieRequests                          int64 // multis refused; batches ended so; requests refused by brokers
	StaleBrokerEpochs, StaleStates                                int64
	RequestsLost, AnswersLost                                     int64
	Crashes, Bounces, Freezes, Partitions, Cuts, Deposed          int64
	ShutdownsGranted, LostRegistrations, RegistrationWaits        int64
	Created, Deleted, Expanded, Reassigned, Cancelled             int64 // acknowledged
	Elected, ISRChanges, ISRRefused, Configured, ProducerIDBlocks int64
	UncleanLeaders, ReplicasDeleted, Recreated, Forgotten         int64
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
		{"elections won", &c.Elections},
		{"elections with lost reply", &c.LostElections},
		{"failovers", &c.Failovers},
		{"controllers that gave up", &c.GiveUps},
		{"session expiries", &c.Expiries},
		{"expiries in a multi", &c.ExpiriesMidMulti},
		{"disconnects", &c.Disconnects},
		{"reconnects", &c.Reconnects},
		{"watch events", &c.Watches},
		{"lost replies of writes", &c.LostReplies},
		{"fenced multis refused", &c.Fenced},
		{"zombies stopped by it", &c.ZombieWrites},
		{"zombie requests refused", &c.ZombieRequests},
		{"stale broker epochs", &c.StaleBrokerEpochs},
		{"stale leader epochs", &c.StaleStates},
		{"requests lost", &c.RequestsLost},
		{"answers lost", &c.AnswersLost},
		{"crashes", &c.Crashes},
		{"quick restarts", &c.Bounces},
		{"freezes", &c.Freezes},
		{"network partitions", &c.Partitions},
		{"cuts from ZooKeeper", &c.Cuts},
		{"controllers deposed", &c.Deposed},
		{"controlled shutdowns", &c.ShutdownsGranted},
		{"lost registrations", &c.LostRegistrations},
		{"waits for a registration", &c.RegistrationWaits},
		{"topics created", &c.Created},
		{"topics deleted", &c.Deleted},
		{"topics created again", &c.Recreated},
		{"topics expanded", &c.Expanded},
		{"reassignments", &c.Reassigned},
		{"reassignments cancelled", &c.Cancelled},
		{"leader elections asked", &c.Elected},
		{"ISR changes", &c.ISRChanges},
		{"ISR changes refused", &c.ISRRefused},
		{"configurations", &c.Configured},
		{"producer id blocks", &c.ProducerIDBlocks},
		{"unclean leaders", &c.UncleanLeaders},
		{"replicas deleted", &c.ReplicasDeleted},
		{"deletions not heard of", &c.Forgotten},
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
		fmt.Fprintf(&b, "%-26s %12d\n", r.name, *r.n)
	}
	return b.String()
}

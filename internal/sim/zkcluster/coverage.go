package zkcluster

import "kbench/internal/sim/seeded"

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
func (c *Coverage) rows() seeded.Tally {
	return seeded.Tally{
		{Name: "seeds", N: &c.Seeds},
		{Name: "events", N: &c.Events},
		{Name: "elections won", N: &c.Elections},
		{Name: "elections with lost reply", N: &c.LostElections},
		{Name: "failovers", N: &c.Failovers},
		{Name: "controllers that gave up", N: &c.GiveUps},
		{Name: "session expiries", N: &c.Expiries},
		{Name: "expiries in a multi", N: &c.ExpiriesMidMulti},
		{Name: "disconnects", N: &c.Disconnects},
		{Name: "reconnects", N: &c.Reconnects},
		{Name: "watch events", N: &c.Watches},
		{Name: "lost replies of writes", N: &c.LostReplies},
		{Name: "fenced multis refused", N: &c.Fenced},
		{Name: "zombies stopped by it", N: &c.ZombieWrites},
		{Name: "zombie requests refused", N: &c.ZombieRequests},
		{Name: "stale broker epochs", N: &c.StaleBrokerEpochs},
		{Name: "stale leader epochs", N: &c.StaleStates},
		{Name: "requests lost", N: &c.RequestsLost},
		{Name: "answers lost", N: &c.AnswersLost},
		{Name: "crashes", N: &c.Crashes},
		{Name: "quick restarts", N: &c.Bounces},
		{Name: "freezes", N: &c.Freezes},
		{Name: "network partitions", N: &c.Partitions},
		{Name: "cuts from ZooKeeper", N: &c.Cuts},
		{Name: "controllers deposed", N: &c.Deposed},
		{Name: "controlled shutdowns", N: &c.ShutdownsGranted},
		{Name: "lost registrations", N: &c.LostRegistrations},
		{Name: "waits for a registration", N: &c.RegistrationWaits},
		{Name: "topics created", N: &c.Created},
		{Name: "topics deleted", N: &c.Deleted},
		{Name: "topics created again", N: &c.Recreated},
		{Name: "topics expanded", N: &c.Expanded},
		{Name: "reassignments", N: &c.Reassigned},
		{Name: "reassignments cancelled", N: &c.Cancelled},
		{Name: "leader elections asked", N: &c.Elected},
		{Name: "ISR changes", N: &c.ISRChanges},
		{Name: "ISR changes refused", N: &c.ISRRefused},
		{Name: "configurations", N: &c.Configured},
		{Name: "producer id blocks", N: &c.ProducerIDBlocks},
		{Name: "unclean leaders", N: &c.UncleanLeaders},
		{Name: "replicas deleted", N: &c.ReplicasDeleted},
		{Name: "deletions not heard of", N: &c.Forgotten},
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

// Package seeded is what the simulations of both controllers are made of: the
// queue of events in the order in which they happen, the running hash by which
// two runs of one seed are seen to be equal, and the table of what the runs went
// through, with its floor.
//
// It must not know what an event is, nor what is counted.
package seeded

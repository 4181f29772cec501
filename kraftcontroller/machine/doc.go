// Package machine is the brain of the log-style controller: Kafka's
// QuorumController as a pure state machine. A request is decided against the
// current image, the decision is a list of records, and replaying records is
// the only thing that changes state, on the active controller and on standbys
// alike.
//
// It owns the working image with those at uncommitted offsets, the sessions
// of brokers, the periodic tasks, and the responses that wait for their offset
// to be stable (Kafka's purgatory). It must not know of networks, disks,
// clocks, goroutines or locks, nor how records are replicated: offsets come in
// and records go out. The shell, package kraftcontroller, calls it on its one
// goroutine; nothing else does.
//
// # Roles
//
//	standby -> active    Claim: this node leads the quorum in a new epoch and
//	                     has replayed all that is committed
//	active  -> standby   Renounce: it leads no more; what was not committed is
//	                     undone and its requests fail with NOT_CONTROLLER
//	active  -> active    Claim of a later epoch: as Renounce, then Claim
//	standby -> standby   Committed and Snapshot replay what others decided
//
// # Use
//
// The shell steps the machine with one input at a time and carries out the
// effects in order. Appends come with the offset that their first record must
// get: if the log gives another, or refuses, the shell renounces and resigns.
//
//	m, err := machine.New(machine.Config{ClusterID: id, Rand: rng})
//	effects, err := m.Step(now, machine.Claim{Epoch: 7, NextOffset: 120})
//	effects, err = m.Step(now, machine.Request{ID: 1, Body: req})
//	for _, a := range effects.Appends {
//		last, err := client.Append(epoch, a.Values) // then last == a.LastOffset()
//	}
//	// once HandleCommit brings the offset:
//	effects, err = m.Step(now, machine.Committed{BaseOffset: 120, Epoch: 7, Values: values})
//	for _, r := range effects.Responses {
//		answer(r.ID, r.Body)
//	}
//	// and when effects.Deadline has come, whatever else came before:
//	effects, err = m.Step(now, machine.Tick{})
//
// Requests that wait are stepped before a Tick, lest a broker is fenced whose
// heartbeat has arrived (KAFKA-15019).
//
// An error of Step is final: a record did not replay, or the log broke a
// promise. The machine must not be used again and the node stops.
package machine

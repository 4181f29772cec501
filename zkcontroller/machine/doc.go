// Package machine is Kafka's ZooKeeper-mode controller as a pure state
// machine: the controller context, the partition and the replica state
// machines, and the flows over them (failover, brokers that come and go,
// topics, deletion, controlled shutdown, ISR changes, elections, the admin
// requests). Events go in, effects come out.
//
// It owns what the active controller believes of the cluster. It must not know
// ZooKeeper's client, sockets, clocks or JSON: reads and writes of znodes are
// effects (a Batch, with expected versions) whose results come back as the
// next input, and requests to brokers are effects too. It imports nothing that
// does I/O and has no goroutine, lock or clock of its own; a flow that waits
// for a Batch is a coroutine (iter.Pull), which runs only inside Step.
//
// Like Kafka's event thread it handles one event at a time: while a Batch is
// out, Step takes only its result, or Resign. Whoever calls it, the shell
// zkcontroller or a simulation, keeps the queue. All calls come from one
// goroutine.
//
//	m := machine.New(machine.Config{ID: 1, Rand: rng})
//	effects := m.Step(machine.Elected{Epoch: 1})
//	for m.Waiting() {
//		err := store.Run(effects[len(effects)-1].(machine.Batch)) // fills in the results
//		effects = m.Step(machine.Done{Err: err})
//	}
//
// Names, order of steps and order of writes are those of Kafka 3.9
// (KafkaController, ZkPartitionStateMachine, ZkReplicaStateMachine,
// TopicDeletionManager, ControllerChannelManager).
package machine

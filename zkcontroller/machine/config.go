package machine

import (
	"math/rand/v2"

	"kbench/kafka"
	"kbench/kafka/ibp"
)

// Config is what a controller knows beforehand. The zero value of each field
// but ID and Rand is Kafka's default.
type Config struct {
	ID kafka.BrokerID // this controller's broker id
	// Dedicated brokers are registered and known to all, and get no replicas.
	Dedicated []kafka.BrokerID
	// MaxRequestBytes is the store's limit on one write (jute.maxbuffer); 0
	// means no limit. A topic that would exceed it is refused.
	MaxRequestBytes int
	// MaxListBytes is the largest reply that lists all topics; 0 means no limit.
	// Topics whose names would make it longer are refused.
	MaxListBytes int
	// DefaultPartitions and DefaultReplication stand for -1 in CreateTopics
	// (num.partitions, default.replication.factor); 0 means 1.
	DefaultPartitions  int32
	DefaultReplication int16
	// UncleanElection is unclean.leader.election.enable where a topic does not
	// say otherwise.
	UncleanElection bool
	// NoDeletion is delete.topic.enable=false.
	NoDeletion bool
	// PerPartition sends one request to a broker for each partition, as Kafka
	// before 1.1.
	PerPartition bool
	// OneByOne moves the partitions of a controlled shutdown or a reassignment
	// one after another, as Kafka before 1.1: a partition's znode is read and
	// written, and its requests are queued, before the next one's turn.
	OneByOne bool
	// HeldStates has elections and shrinking ISRs begin from the states that the
	// controller holds, where Kafka reads every znode anew: nobody else writes
	// them, and each write is conditional on their versions. A write that finds
	// another version reads.
	HeldStates bool
	// Protocol is inter.broker.protocol.version. It decides whether topics have
	// ids, whether unclean leaders are RECOVERING, and who writes ISRs.
	Protocol ibp.Version
	// NoBrokerEpochs is Kafka before 2.2 (KIP-380): a broker that comes back with
	// a new registration between two looks is taken for the old one.
	NoBrokerEpochs bool
	// FullMetadata sends every partition with each UpdateMetadata that has only
	// the live brokers to tell, as Kafka 1.0 does when brokers come and go.
	FullMetadata bool
	// ImbalancePercent is leader.imbalance.per.broker.percentage; 0 means 10.
	ImbalancePercent int
	// Rand places replicas and makes topic ids. It belongs to the machine.
	Rand *rand.Rand
}

// Limits of the machine's own loops.
const (
	// maxWriteTries bounds how often a conditional write is tried again after
	// another has changed the znode. Nobody but this controller writes state
	// znodes from inter-broker protocol 2.7 on, so one retry is already rare.
	maxWriteTries = 20
	// maxNotes bounds the failures of one transition that are told one by one.
	maxNotes = 5
)

func (c *Config) setDefaults() {
	if c.DefaultPartitions == 0 {
		c.DefaultPartitions = 1
	}
	if c.DefaultReplication == 0 {
		c.DefaultReplication = 1
	}
	if c.ImbalancePercent == 0 {
		c.ImbalancePercent = 10
	}
}

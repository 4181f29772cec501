package ibp

import (
	"fmt"
	"slices"
	"strings"
)

// Version is one level of inter.broker.protocol.version. The zero value is
// Default, Kafka 3.9's own.
type Version uint8

// names are the levels from oldest to newest.
var names = []string{
	"0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2",
	"0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1",
	"2.1-IV0", "2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0",
	"2.6-IV0", "2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0-IV0", "3.0-IV1", "3.1-IV0", "3.2-IV0",
	"3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1",
	"3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0",
}

// Default is the newest level that ZooKeeper mode has.
const Default Version = 0

// Parse reads a level as Kafka's configuration has it: in full, or without its
// -IV suffix for the newest of a release.
func Parse(s string) (Version, error) {
	for i := len(names) - 1; i >= 0; i-- {
		release, _, _ := strings.Cut(names[i], "-IV")
		if s == names[i] || s == release {
			return of(i), nil
		}
	}
	return Default, fmt.Errorf("inter-broker protocol %.32q is not one of %s to %s", s, names[0], names[len(names)-1])
}

func of(index int) Version {
	if index == len(names)-1 {
		return Default
	}
	return Version(index + 1)
}

func (v Version) index() int {
	if v == Default || int(v) > len(names) {
		return len(names) - 1
	}
	return int(v) - 1
}

// String gives Kafka's name of the level.
func (v Version) String() string { return names[v.index()] }

// since reports whether the level is at least the one named.
func (v Version) since(name string) bool {
	i := slices.Index(names, name)
	if i < 0 {
		panic("ibp: no level " + name)
	}
	return v.index() >= i
}

// step is the version of a request from a level on.
type step struct {
	level   string
	version int16
}

// pick gives the version of the newest step that the level has reached, 0
// before the first.
func (v Version) pick(steps ...step) int16 {
	for _, s := range steps {
		if v.since(s.level) {
			return s.version
		}
	}
	return 0
}

// LeaderAndISR is the version of LeaderAndIsr (4).
func (v Version) LeaderAndISR() int16 {
	return v.pick(step{"3.4-IV0", 7}, step{"3.2-IV0", 6}, step{"2.8-IV1", 5}, step{"2.4-IV1", 4}, step{"2.4-IV0", 3}, step{"2.2-IV0", 2}, step{"1.0-IV0", 1})
}

// UpdateMetadata is the version of UpdateMetadata (6).
func (v Version) UpdateMetadata() int16 {
	return v.pick(step{"3.4-IV0", 8}, step{"2.8-IV1", 7}, step{"2.4-IV1", 6}, step{"2.2-IV0", 5}, step{"1.0-IV0", 4}, step{"0.10.2-IV0", 3}, step{"0.10.0-IV1", 2}, step{"0.9.0", 1})
}

// StopReplica is the version of StopReplica (5).
func (v Version) StopReplica() int16 {
	return v.pick(step{"3.4-IV0", 4}, step{"2.6-IV0", 3}, step{"2.4-IV1", 2}, step{"2.2-IV0", 1})
}

// ControlledShutdown is the version of ControlledShutdown (7).
func (v Version) ControlledShutdown() int16 {
	return v.pick(step{"2.4-IV1", 3}, step{"2.2-IV0", 2}, step{"0.9.0", 1})
}

// AlterPartition is the newest version of AlterPartition (56) that a broker may
// use with topic ids or without; -1 where leaders write state znodes
// themselves and tell by /isr_change_notification (before KIP-497).
func (v Version) AlterPartition() int16 {
	switch {
	case !v.since("2.7-IV2"):
		return -1
	case !v.TopicIDs():
		return 1
	}
	return 3
}

// LeadersWriteISR reports whether leaders write state znodes themselves.
func (v Version) LeadersWriteISR() bool { return v.AlterPartition() < 0 }

// TopicIDs reports whether topics have ids (KIP-516).
func (v Version) TopicIDs() bool { return v.since("2.8-IV0") }

// LeaderRecovery reports whether an unclean election marks the partition as
// RECOVERING (KIP-704).
func (v Version) LeaderRecovery() bool { return v.since("3.2-IV0") }

// AllocateProducerIDs reports whether the controller gives out blocks of
// producer ids (KIP-730); before, each broker wrote the znode itself.
func (v Version) AllocateProducerIDs() bool { return v.since("3.0-IV0") }

// Features reports whether /feature is in use (KIP-584).
func (v Version) Features() bool { return v.since("2.7-IV0") }

// FeatureNode is the version of the JSON in /feature.
func (v Version) FeatureNode() int {
	if v.since("3.3-IV0") {
		return 2
	}
	return 1
}

// BrokerNode is the version of the JSON in /brokers/ids.
func (v Version) BrokerNode() int {
	switch {
	case v.since("2.7-IV0"):
		return 5
	case v.since("0.10.0-IV1"):
		return 4
	}
	return 2
}

package metadata

import (
	"fmt"
	"strconv"
	"strings"
)

// The names of the features that a FeatureLevelRecord can finalize.
const (
	MetadataVersionFeature    = "metadata.version"
	KRaftVersionFeature       = "kraft.version"
	TransactionVersionFeature = "transaction.version"
	GroupVersionFeature       = "group.version"
	ELRVersionFeature         = "eligible.leader.replicas.version"
	ShareVersionFeature       = "share.version"
	StreamsVersionFeature     = "streams.version"
)

// MetadataVersion is a level of the feature metadata.version; it decides
// which records, and which versions of them, a controller may write.
type MetadataVersion int16

// The levels at which something changes for us, and those from which on a
// release finalizes another feature by itself.
const (
	V3_3_IV0 MetadataVersion = 4  // oldest level that is understood
	V3_3_IV1 MetadataVersion = 5  // NoOpRecord
	V3_3_IV2 MetadataVersion = 6  // BrokerRegistrationChangeRecord
	V3_3_IV3 MetadataVersion = 7  // InControlledShutdown; oldest level of Kafka 4
	V3_4_IV0 MetadataVersion = 8  // RegisterBrokerRecord version 2
	V3_5_IV2 MetadataVersion = 11 // SCRAM credentials
	V3_6_IV0 MetadataVersion = 12 // an ISR that shrinks leaves the leader epoch
	V3_6_IV1 MetadataVersion = 13 // metadata transactions
	V3_6_IV2 MetadataVersion = 14 // delegation tokens
	V3_7_IV0 MetadataVersion = 15 // RegisterControllerRecord
	V3_7_IV2 MetadataVersion = 17 // directories of replicas
	V3_9_IV0 MetadataVersion = 21 // kraft.version 1, Fetch version 17
	V4_0_IV0 MetadataVersion = 22 // group.version 1
	V4_0_IV1 MetadataVersion = 23 // eligible leader replicas can be enabled
	V4_0_IV2 MetadataVersion = 24 // transaction.version 2
	V4_0_IV3 MetadataVersion = 25 // Kafka 4.0
	V4_1_IV0 MetadataVersion = 26 // eligible leader replicas are enabled
	V4_1_IV1 MetadataVersion = 27 // Fetch version 18
	V4_2_IV0 MetadataVersion = 28 // share.version 1
	V4_2_IV1 MetadataVersion = 29 // streams.version 1
	V4_3_IV0 MetadataVersion = 30 // cordoned log directories
	V4_4_IV0 MetadataVersion = 31 // share.version 2
	V4_4_IV1 MetadataVersion = 32 // ACLs of address ranges
	V4_4_IV2 MetadataVersion = 33 // Kafka 4.4; UnregisterControllerRecord

	// OldestMetadataVersion and NewestMetadataVersion bound what a
	// controller of kbench can run at.
	OldestMetadataVersion = V3_3_IV3
	NewestMetadataVersion = V4_4_IV2
	// DefaultMetadataVersion is that of Kafka 4.0, without eligible leader
	// replicas (KIP-966), which 4.0 leaves off as well.
	DefaultMetadataVersion = V4_0_IV3
)

var metadataVersionNames = map[MetadataVersion]string{
	4: "3.3-IV0", 5: "3.3-IV1", 6: "3.3-IV2", 7: "3.3-IV3", 8: "3.4-IV0", 9: "3.5-IV0", 10: "3.5-IV1",
	11: "3.5-IV2", 12: "3.6-IV0", 13: "3.6-IV1", 14: "3.6-IV2", 15: "3.7-IV0", 16: "3.7-IV1", 17: "3.7-IV2",
	18: "3.7-IV3", 19: "3.7-IV4", 20: "3.8-IV0", 21: "3.9-IV0", 22: "4.0-IV0", 23: "4.0-IV1", 24: "4.0-IV2",
	25: "4.0-IV3", 26: "4.1-IV0", 27: "4.1-IV1", 28: "4.2-IV0", 29: "4.2-IV1", 30: "4.3-IV0", 31: "4.4-IV0",
	32: "4.4-IV1", 33: "4.4-IV2",
}

// String gives Kafka's name of the level, for example 4.0-IV3.
func (v MetadataVersion) String() string {
	if name, ok := metadataVersionNames[v]; ok {
		return name
	}
	return "level " + strconv.Itoa(int(v))
}

// ParseMetadataVersion reads Kafka's name of a level between
// OldestMetadataVersion and NewestMetadataVersion, 4.0-IV3, or that of a
// release, 4.0, which stands for the newest level that it has.
func ParseMetadataVersion(name string) (MetadataVersion, error) {
	for v := NewestMetadataVersion; v >= OldestMetadataVersion; v-- {
		if known := metadataVersionNames[v]; known == name || releaseOf(known) == name {
			return v, nil
		}
	}
	return 0, fmt.Errorf("metadata.version %q is not one of %s to %s", name, OldestMetadataVersion, NewestMetadataVersion)
}

// NewestOf gives the newest level that a version of Kafka has, such as 4.1.0 or
// a build of it; false for one whose levels are not known.
func NewestOf(version string) (MetadataVersion, bool) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return 0, false
	}
	v, err := ParseMetadataVersion(parts[0] + "." + parts[1])
	return v, err == nil
}

// releaseOf is the release in the name of a level.
func releaseOf(name string) string {
	release, _, _ := strings.Cut(name, "-")
	return release
}

// RecordVersion gives the version in which Kafka 4.4 writes a record of r's
// type at level v.
func (v MetadataVersion) RecordVersion(r Record) int16 {
	switch r.(type) {
	case *RegisterBrokerRecord:
		switch {
		case v >= V4_3_IV0:
			return 4
		case v >= V3_7_IV2:
			return 3
		case v >= V3_4_IV0:
			return 2
		case v >= V3_3_IV3:
			return 1
		}
	case *PartitionRecord, *PartitionChangeRecord:
		switch {
		case v >= V4_0_IV1:
			return 2
		case v >= V3_7_IV2:
			return 1
		}
	case *BrokerRegistrationChangeRecord:
		switch {
		case v >= V4_3_IV0:
			return 3
		case v >= V3_7_IV2:
			return 2
		case v >= V3_3_IV3:
			return 1
		}
	}
	return 0
}

// HasDirectories reports whether partitions name the directories of their
// replicas (KIP-858).
func (v MetadataVersion) HasDirectories() bool { return v >= V3_7_IV2 }

// HasCordonedDirectories reports whether registrations name directories that
// get no new replicas (KIP-1066).
func (v MetadataVersion) HasCordonedDirectories() bool { return v >= V4_3_IV0 }

// HasAddressRanges reports whether the host of an ACL may be a range of
// addresses.
func (v MetadataVersion) HasAddressRanges() bool { return v >= V4_4_IV1 }

// HasScram reports whether credentials are in the metadata log (KIP-900).
func (v MetadataVersion) HasScram() bool { return v >= V3_5_IV2 }

// HasDelegationTokens reports whether tokens are in the metadata log (KIP-900).
func (v MetadataVersion) HasDelegationTokens() bool { return v >= V3_6_IV2 }

// HasTransactions reports whether records may be in metadata transactions
// (KIP-866).
func (v MetadataVersion) HasTransactions() bool { return v >= V3_6_IV1 }

// BumpsLeaderEpochOnShrink reports whether an ISR that shrinks raises the
// leader epoch (KAFKA-15021 ended that).
func (v MetadataVersion) BumpsLeaderEpochOnShrink() bool { return v < V3_6_IV0 }

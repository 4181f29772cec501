package metadata

import (
	"fmt"
	"maps"
	"slices"
)

// featureKind is what Kafka's Feature says of a feature: its newest level, and
// what a level above 0 depends on.
type featureKind struct {
	newest    int16
	dependsOn map[string]int16
}

// featureKinds are the features of Kafka 4.4 beside metadata.version and
// kraft.version, which is no record's.
var featureKinds = map[string]featureKind{
	TransactionVersionFeature: {newest: 2},
	GroupVersionFeature:       {newest: 1},
	ELRVersionFeature:         {newest: 1, dependsOn: map[string]int16{MetadataVersionFeature: int16(V4_0_IV1)}},
	ShareVersionFeature:       {newest: 2},
	StreamsVersionFeature:     {newest: 1},
}

// releaseLevels are the levels that a release finalizes by itself from a
// metadata.version on, as `kafka-storage version-mapping` of Kafka 4.4 tells.
var releaseLevels = []struct {
	from  MetadataVersion
	name  string
	level int16
}{
	{V4_0_IV0, GroupVersionFeature, 1},
	{V4_0_IV2, TransactionVersionFeature, 2},
	{V4_1_IV0, ELRVersionFeature, 1},
	{V4_2_IV0, ShareVersionFeature, 1},
	{V4_2_IV1, StreamsVersionFeature, 1},
	{V4_4_IV0, ShareVersionFeature, 2},
}

// ReleaseLevels gives the levels above 0 that a new cluster at v has of the
// other features, by name.
func (v MetadataVersion) ReleaseLevels() map[string]int16 {
	levels := map[string]int16{}
	for _, r := range releaseLevels {
		if v >= r.from {
			levels[r.name] = r.level
		}
	}
	return levels
}

// LevelRecords are the first records of a cluster at v whose other features have
// these levels: metadata.version, then the others above 0 by name.
func (v MetadataVersion) LevelRecords(levels map[string]int16) []Record {
	records := []Record{&FeatureLevelRecord{Name: MetadataVersionFeature, FeatureLevel: int16(v)}}
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		if levels[name] > 0 {
			records = append(records, &FeatureLevelRecord{Name: name, FeatureLevel: levels[name]})
		}
	}
	return records
}

// SupportedFeatures gives the levels that the nodes of kbench know of each
// feature that records finalize.
func SupportedFeatures() map[string]VersionRange {
	supported := map[string]VersionRange{
		MetadataVersionFeature: {int16(OldestMetadataVersion), int16(NewestMetadataVersion)},
	}
	for name, kind := range featureKinds {
		supported[name] = VersionRange{0, kind.newest}
	}
	return supported
}

// FeatureNames lists the names of the supported features, metadata.version
// among them, in order.
func FeatureNames() []string { return slices.Sorted(maps.Keys(SupportedFeatures())) }

// JudgeFeatureLevel checks what a level of a feature depends on; levelOf gives
// the levels that are to be finalized with it.
func JudgeFeatureLevel(name string, level int16, levelOf func(string) int16) error {
	if level == 0 {
		return nil
	}
	needs := featureKinds[name].dependsOn
	for _, other := range slices.Sorted(maps.Keys(needs)) {
		if least := needs[other]; levelOf(other) < least {
			return fmt.Errorf("%s could not be set to %d because it depends on %s level %d", name, level, other, least)
		}
	}
	return nil
}

// changingVersions are the levels that brought something into the metadata that
// an older version does not know.
var changingVersions = []MetadataVersion{
	V3_3_IV3, V3_4_IV0, V3_5_IV2, V3_6_IV1, V3_6_IV2, V3_7_IV0, V3_7_IV2, V4_0_IV1, V4_3_IV0, V4_4_IV1, V4_4_IV2,
}

// ChangedSince reports whether the metadata of level v can hold what level
// older does not know, so that going back could lose it.
func (v MetadataVersion) ChangedSince(older MetadataVersion) bool {
	return slices.ContainsFunc(changingVersions, func(c MetadataVersion) bool { return older < c && c <= v })
}

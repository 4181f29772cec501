package admin

import (
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"

	"kbench/kafka"
)

const (
	largest      = "9223372036854775807" // LONG
	minCompacted = "min.compaction.lag.ms"
	maxCompacted = "max.compaction.lag.ms"
	segmentBytes = "segment.bytes"
)

// TopicConfigs are those of Kafka 4.4, TopicConfigs3 those of Kafka 3.9.
var (
	TopicConfigs  = topicConfigDef(topicConfigs4())
	TopicConfigs3 = topicConfigDef(topicConfigs3())
)

func topicConfigDef(keys map[string]configKey) *ConfigDef {
	return &ConfigDef{unknown: "Unknown topic config name", code: kafka.InvalidConfig, keys: keys, whole: judgeTopic}
}

// synonym is a broker configuration of another name, and perhaps another unit.
type synonym struct {
	name string
	ms   int64 // in one unit of it; 0 where the value is the same
}

// by gives k the broker configurations that set its default.
func (k configKey) by(names ...string) configKey {
	for _, name := range names {
		s := synonym{name: name}
		switch {
		case strings.HasSuffix(name, ".hours"):
			s.ms = 3_600_000
		case strings.HasSuffix(name, ".minutes"):
			s.ms = 60_000
		}
		k.synonyms = append(k.synonyms, s)
	}
	return k
}

var (
	cleanupPolicy = configKey{typ: typeList, value: "delete", check: func(s string) string {
		for _, item := range listItems(s) {
			if s != "" && item != "compact" && item != "delete" {
				return "String must be one of: compact, delete"
			}
		}
		return ""
	}}
	throttledReplicas = configKey{typ: typeList, check: func(s string) string {
		if s == "*" || s == "" || replicaList.MatchString(s) {
			return ""
		}
		return "it must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
	}}
	replicaList = regexp.MustCompile(`^\d+:\d+(\s*,\s*\d+:\d+)*$`)
	ratio       = configKey{typ: typeDouble, value: "0.5", check: func(s string) string {
		switch v, _ := strconv.ParseFloat(s, 64); {
		case v > 1:
			return "Value must be no more than 1"
		case v < 0:
			return "Value must be at least 0"
		}
		return ""
	}}
	gzipLevel = configKey{typ: typeInt, value: "-1", check: func(s string) string {
		if n, _ := strconv.Atoi(s); n != -1 && (n < 1 || n > 9) {
			return "Value must be between 1 and 9 or equal to -1"
		}
		return ""
	}}
)

// topicConfigsOfBoth are those that 3.9 and 4.4 have alike.
func topicConfigsOfBoth() map[string]configKey {
	return map[string]configKey{
		"cleanup.policy":                          cleanupPolicy.by("log.cleanup.policy"),
		"compression.gzip.level":                  gzipLevel.by("compression.gzip.level"),
		"compression.lz4.level":                   between("9", 1, 17).by("compression.lz4.level"),
		"compression.type":                        oneOf("producer", "uncompressed", "zstd", "lz4", "snappy", "gzip", "producer").by("compression.type"),
		"compression.zstd.level":                  between("3", -131072, 22).by("compression.zstd.level"),
		"delete.retention.ms":                     atLeast(typeLong, "86400000", 0).by("log.cleaner.delete.retention.ms"),
		"file.delete.delay.ms":                    atLeast(typeLong, "60000", 0).by("log.segment.delete.delay.ms"),
		"flush.messages":                          atLeast(typeLong, largest, 1).by("log.flush.interval.messages"),
		"flush.ms":                                atLeast(typeLong, largest, 0).by("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
		"follower.replication.throttled.replicas": throttledReplicas,
		"index.interval.bytes":                    atLeast(typeInt, "4096", 0).by("log.index.interval.bytes"),
		"leader.replication.throttled.replicas":   throttledReplicas,
		"local.retention.bytes":                   atLeast(typeLong, "-2", -2).by("log.local.retention.bytes"),
		"local.retention.ms":                      atLeast(typeLong, "-2", -2).by("log.local.retention.ms"),
		maxCompacted:                              atLeast(typeLong, largest, 1).by("log.cleaner.max.compaction.lag.ms"),
		"max.message.bytes":                       atLeast(typeInt, "1048588", 0).by("message.max.bytes"),
		"message.timestamp.after.max.ms":          atLeast(typeLong, "3600000", 0).by("log.message.timestamp.after.max.ms"),
		"message.timestamp.before.max.ms":         atLeast(typeLong, largest, 0).by("log.message.timestamp.before.max.ms"),
		"message.timestamp.type":                  oneOf("CreateTime", "CreateTime", "LogAppendTime").by("log.message.timestamp.type"),
		"min.cleanable.dirty.ratio":               ratio.by("log.cleaner.min.cleanable.ratio"),
		minCompacted:                              atLeast(typeLong, "0", 0).by("log.cleaner.min.compaction.lag.ms"),
		"min.insync.replicas":                     atLeast(typeInt, "1", 1).by("min.insync.replicas"),
		"preallocate":                             boolean("false").by("log.preallocate"),
		"remote.log.copy.disable":                 boolean("false"),
		"remote.log.delete.on.disable":            boolean("false"),
		"remote.storage.enable":                   boolean("false"),
		"retention.bytes":                         configKey{typ: typeLong, value: "-1"}.by("log.retention.bytes"),
		"retention.ms":                            atLeast(typeLong, "604800000", -1).by("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
		"segment.index.bytes":                     atLeast(typeInt, "10485760", 4).by("log.index.size.max.bytes"),
		"segment.jitter.ms":                       atLeast(typeLong, "0", 0).by("log.roll.jitter.ms", "log.roll.jitter.hours"),
		"segment.ms":                              atLeast(typeLong, "604800000", 1).by("log.roll.ms", "log.roll.hours"),
		"unclean.leader.election.enable":          boolean("false").by("unclean.leader.election.enable"),
	}
}

func topicConfigs4() map[string]configKey {
	keys := topicConfigsOfBoth()
	maps.Copy(keys, map[string]configKey{
		"errors.deadletterqueue.group.enable": boolean("false"),
		"internal.segment.bytes":              {typ: typeInt, internal: true},
		"max.decompressed.message.bytes":      between("2147483639", 1, 2147483639).by("max.decompressed.message.bytes"),
		"remote.copy.lag.bytes":               atLeast(typeLong, "-1", -1).by("log.remote.copy.lag.bytes"),
		"remote.copy.lag.ms":                  atLeast(typeLong, "0", -1).by("log.remote.copy.lag.ms"),
		segmentBytes:                          atLeast(typeInt, "1073741824", 1<<20).by("log.segment.bytes"),
	})
	return keys
}

func topicConfigs3() map[string]configKey {
	keys := topicConfigsOfBoth()
	maps.Copy(keys, map[string]configKey{
		"message.downconversion.enable":       boolean("true").by("log.message.downconversion.enable"),
		"message.format.version":              configKey{typ: typeString, value: "3.0-IV1"}.by("log.message.format.version"),
		"message.timestamp.difference.max.ms": atLeast(typeLong, largest, 0).by("log.message.timestamp.difference.max.ms"),
		segmentBytes:                          atLeast(typeInt, "1073741824", 14).by("log.segment.bytes"),
	})
	return keys
}

// judgeTopic checks what a topic would have against each other. There is no tiered
// storage here, so that no topic may have its log there.
func judgeTopic(values map[string]string) error {
	least, most := int64(0), int64(math.MaxInt64)
	for name, n := range map[string]*int64{minCompacted: &least, maxCompacted: &most} {
		if v, ok := values[name]; ok {
			*n, _ = strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		}
	}
	if least > most {
		return Faultf(kafka.InvalidConfig, "conflict topic config setting %s (%d) > %s (%d)", minCompacted, least, maxCompacted, most)
	}
	if strings.EqualFold(strings.TrimSpace(values["remote.storage.enable"]), "true") {
		return Faultf(kafka.InvalidConfig, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

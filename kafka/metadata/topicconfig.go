package metadata

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// topicConfigKind is the type of a topic configuration's value.
type topicConfigKind struct {
	parse func(string) bool
	want  string
	list  bool
}

func integer(bits int, least int64) topicConfigKind {
	return topicConfigKind{want: fmt.Sprintf("a whole number, at least %d", least), parse: func(s string) bool {
		v, err := strconv.ParseInt(strings.TrimSpace(s), 10, bits)
		return err == nil && v >= least
	}}
}

func oneOf(values ...string) topicConfigKind {
	return topicConfigKind{want: "one of " + strings.Join(values, ", "), parse: func(s string) bool { return slices.Contains(values, s) }}
}

var (
	boolean  = topicConfigKind{want: "true or false", parse: func(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") }}
	fraction = topicConfigKind{want: "a number from 0 to 1", parse: func(s string) bool {
		v, err := strconv.ParseFloat(s, 64)
		return err == nil && v >= 0 && v <= 1
	}}
	policy = topicConfigKind{want: "a list of delete and compact", list: true, parse: func(s string) bool {
		for _, p := range strings.Split(s, ",") {
			if p = strings.TrimSpace(p); p != "" && p != "delete" && p != "compact" {
				return false
			}
		}
		return true
	}}
	throttled = topicConfigKind{want: "* or a list of partition:broker", list: true, parse: func(string) bool { return true }}
)

// topicConfigs are the configurations of a topic in Kafka 3.9 and 4.0.
var topicConfigs = map[string]topicConfigKind{
	"cleanup.policy":                          policy,
	"compression.gzip.level":                  integer(32, -1),
	"compression.lz4.level":                   integer(32, 1),
	"compression.type":                        oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
	"compression.zstd.level":                  integer(32, -131072),
	"delete.retention.ms":                     integer(64, 0),
	"file.delete.delay.ms":                    integer(64, 0),
	"flush.messages":                          integer(64, 1),
	"flush.ms":                                integer(64, 0),
	"follower.replication.throttled.replicas": throttled,
	"index.interval.bytes":                    integer(32, 0),
	"leader.replication.throttled.replicas":   throttled,
	"local.retention.bytes":                   integer(64, -2),
	"local.retention.ms":                      integer(64, -2),
	"max.compaction.lag.ms":                   integer(64, 1),
	"max.message.bytes":                       integer(32, 0),
	"message.downconversion.enable":           boolean,
	"message.format.version":                  {want: "a version", parse: func(s string) bool { return s != "" }},
	"message.timestamp.after.max.ms":          integer(64, 0),
	"message.timestamp.before.max.ms":         integer(64, 0),
	"message.timestamp.difference.max.ms":     integer(64, 0),
	"message.timestamp.type":                  oneOf("CreateTime", "LogAppendTime"),
	"min.cleanable.dirty.ratio":               fraction,
	"min.compaction.lag.ms":                   integer(64, 0),
	"min.insync.replicas":                     integer(32, 1),
	"preallocate":                             boolean,
	"remote.log.copy.disable":                 boolean,
	"remote.log.delete.on.disable":            boolean,
	"remote.storage.enable":                   boolean,
	"retention.bytes":                         integer(64, -1<<63),
	"retention.ms":                            integer(64, -1),
	"segment.bytes":                           integer(32, 14),
	"segment.index.bytes":                     integer(32, 4),
	"segment.jitter.ms":                       integer(64, 0),
	"segment.ms":                              integer(64, 1),
	"unclean.leader.election.enable":          boolean,
}

// ValidateTopicConfig checks the name and the value of a topic's
// configuration. The error is for an INVALID_CONFIG.
func ValidateTopicConfig(name, value string) error {
	kind, ok := topicConfigs[name]
	if !ok {
		return fmt.Errorf("unknown topic config name %.64q", name)
	}
	if !kind.parse(value) {
		return fmt.Errorf("the value %.64q of the topic config %s is not %s", value, name, kind.want)
	}
	return nil
}

// IsListTopicConfig reports whether items can be added to and taken from the
// value of a topic's configuration.
func IsListTopicConfig(name string) bool { return topicConfigs[name].list }

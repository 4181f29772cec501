package admin

import (
	"testing"

	"kbench/kafka"
)

// TestConfigDefsAreKafkas: what the validators of Kafka 4.4.0 (LogConfig,
// GroupConfig, ClientMetricsConfigs) say of the same values.
func TestConfigDefsAreKafkas(t *testing.T) {
	for _, c := range []struct {
		def         *ConfigDef
		name, value string
		want        string // "" where it is taken
	}{
		{TopicConfigs, "cleanup.policy", "", ""},
		{TopicConfigs, "cleanup.policy", "delete,delete", ""},
		{TopicConfigs, "cleanup.policy", "compact,delete", ""},
		{TopicConfigs, "cleanup.policy", "x", "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete"},
		{TopicConfigs, "compression.gzip.level", "-1", ""},
		{TopicConfigs, "compression.gzip.level", "0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{TopicConfigs, "compression.gzip.level", "10", "Invalid value 10 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{TopicConfigs, "compression.lz4.level", "18", "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"},
		{TopicConfigs, "segment.bytes", "14", "Invalid value 14 for configuration segment.bytes: Value must be at least 1048576"},
		{TopicConfigs, "segment.bytes", "x", "Invalid value x for configuration segment.bytes: Not a number of type INT"},
		{TopicConfigs, "unclean.leader.election.enable", "TRUE", ""},
		{TopicConfigs, "unclean.leader.election.enable", "maybe", "Invalid value maybe for configuration unclean.leader.election.enable: Expected value to be either true or false"},
		{TopicConfigs, "leader.replication.throttled.replicas", "*", ""},
		{TopicConfigs, "leader.replication.throttled.replicas", "0:1,0:1", ""},
		{TopicConfigs, "leader.replication.throttled.replicas", "", ""},
		{TopicConfigs, "internal.segment.bytes", "1000", ""},
		{TopicConfigs, "min.cleanable.dirty.ratio", "1.5", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{TopicConfigs, "remote.storage.enable", "true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{TopicConfigs, "retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{TopicConfigs, "retention.bytes", "-5", ""},
		{TopicConfigs, "message.downconversion.enable", "true", "Unknown topic config name: message.downconversion.enable"},
		{TopicConfigs, "compression.type", "x", "Invalid value x for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{TopicConfigs, "flush.ms", "99999999999999999999", "Invalid value 99999999999999999999 for configuration flush.ms: Not a number of type LONG"},
		{TopicConfigs, "no.such", "1", "Unknown topic config name: no.such"},
		{TopicConfigs3, "message.downconversion.enable", "true", ""},
		{TopicConfigs3, "segment.bytes", "14", ""},
		{TopicConfigs3, "remote.copy.lag.ms", "1", "Unknown topic config name: remote.copy.lag.ms"},
		{ClientMetricsConfigs, "metrics", "a,a", ""},
		{ClientMetricsConfigs, "metrics", "", ""},
		{ClientMetricsConfigs, "metrics", "a,,b", "Configuration 'metrics' values must not be empty."},
		{ClientMetricsConfigs, "interval.ms", " 100 ", ""},
		{ClientMetricsConfigs, "interval.ms", "x", "Invalid value x for configuration interval.ms: Not a number of type INT"},
		{ClientMetricsConfigs, "interval.ms", "1", "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{ClientMetricsConfigs, "match", "", ""},
		{ClientMetricsConfigs, "match", "client_id=a,client_id=b", ""},
		{ClientMetricsConfigs, "match", "client_id=a++", ""},
		{ClientMetricsConfigs, "match", "client_id", "Illegal client matching pattern: client_id"},
		{ClientMetricsConfigs, "match", "client_id=", "Illegal client matching pattern: client_id="},
		{ClientMetricsConfigs, "match", "client_id=a=b", "Illegal client matching pattern: client_id=a=b"},
		{ClientMetricsConfigs, "match", "foo=a", "Illegal client matching pattern: foo=a"},
		{ClientMetricsConfigs, "match", "client_id=[", "Illegal client matching pattern: client_id=["},
		{ClientMetricsConfigs, "x", "y", "Unknown client metrics configuration: x"},
		{GroupConfigs, "consumer.session.timeout.ms", "50000", ""},
		{GroupConfigs, "consumer.session.timeout.ms", "1", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
		{GroupConfigs, "consumer.session.timeout.ms", "0", "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1"},
		{GroupConfigs, "consumer.session.timeout.ms", "x", "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT"},
		{GroupConfigs, "x", "1", "Unknown group config name: x"},
		{GroupConfigs, "share.auto.offset.reset", "by_duration:P1D", ""},
		{GroupConfigs, "share.isolation.level", "x", "Invalid value x for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted"},
		{GroupConfigs, "streams.num.standby.replicas", "3", "streams.num.standby.replicas must be less than or equal to 2"},
		{GroupConfigs, "streams.num.standby.replicas", "-1", "Invalid value -1 for configuration streams.num.standby.replicas: Value must be at least 0"},
		{GroupConfigs, "streams.task.offset.interval.ms", "10", "streams.task.offset.interval.ms must be greater than or equal to 15000"},
		{GroupConfigs, "streams.assignor.name", "sticky", ""},
		{GroupConfigs, "streams.assignor.name", "x", "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky]."},
		{GroupConfigs, "errors.deadletterqueue.topic.name", "__x", "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"},
		{GroupConfigs, "streams.rack.aware.assignment.tags", "a,a", "streams.rack.aware.assignment.tags must not contain duplicate tag keys."},
		{GroupConfigs, "streams.rack.aware.assignment.tags", "a,,b", "Configuration 'streams.rack.aware.assignment.tags' values must not be empty."},
		{GroupConfigs, "streams.acceptable.recovery.lag", "-1", "Invalid value -1 for configuration streams.acceptable.recovery.lag: Value must be at least 0"},
		{GroupConfigs, "consumer.assignor.offload.enable", "y", "Invalid value y for configuration consumer.assignor.offload.enable: Expected value to be either true or false"},
		{GroupConfigs, "share.delivery.count.limit", "1", "Invalid value 1 for configuration share.delivery.count.limit: Value must be at least 2"},
	} {
		got := ""
		if err := c.def.Validate(map[string]string{c.name: c.value}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
	// Where our text is another.
	for _, reset := range []string{"by_duration:-P1D", "by_duration:x", "by_duration:PT", "none", "LATEST"} {
		if CodeOf(GroupConfigs.Validate(map[string]string{"share.auto.offset.reset": reset})) != kafka.InvalidConfig {
			t.Errorf("share.auto.offset.reset=%s is taken", reset)
		}
	}
	for _, replicas := range []string{"none", "foo"} {
		if CodeOf(TopicConfigs.Validate(map[string]string{"leader.replication.throttled.replicas": replicas})) != kafka.InvalidConfig {
			t.Errorf("throttled replicas %s are taken", replicas)
		}
	}
	if err := TopicConfigs.Validate(map[string]string{minCompacted: "10", maxCompacted: "5"}); err == nil ||
		err.Error() != "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)" {
		t.Errorf("a lag at least above the most: %v", err)
	}
	for _, c := range []struct {
		name, value string
		code        kafka.ErrorCode
	}{{"x", "y", kafka.InvalidRequest}, {"interval.ms", "1", kafka.InvalidRequest}, {"interval.ms", "x", kafka.InvalidConfig}, {"match", "x", kafka.InvalidConfig}} {
		if code := CodeOf(ClientMetricsConfigs.Validate(map[string]string{c.name: c.value})); code != c.code {
			t.Errorf("client metrics %s=%s: %s, want %s", c.name, c.value, code, c.code)
		}
	}
}

// TestEffectiveTopicConfigs: the strongest of topic, node, brokers and default, in
// the units of the topic.
func TestEffectiveTopicConfigs(t *testing.T) {
	got := map[string]string{}
	for _, c := range EffectiveTopicConfigs(
		map[string]string{"cleanup.policy": "compact"},
		map[string]string{"log.cleanup.policy": "delete", "message.max.bytes": "7"},
		map[string]string{"message.max.bytes": "8", "log.retention.hours": "2", "log.roll.ms": "5", "log.roll.hours": "1"},
	) {
		if got[c.Name] = *c.Value + " " + string(rune('0'+c.Source)); c.ReadOnly || c.IsSensitive {
			t.Errorf("%+v", c)
		}
	}
	for name, want := range map[string]string{
		"cleanup.policy": "compact 1", "max.message.bytes": "7 2", "retention.ms": "7200000 3", "segment.ms": "5 3", "segment.bytes": "1073741824 5",
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if _, shown := got["internal.segment.bytes"]; shown || len(got) != 37 {
		t.Errorf("%d configurations, Kafka 4.4 shows 37", len(got))
	}
}

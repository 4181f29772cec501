package admin

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"kbench/kafka"
)

// GroupConfigs are those of a group in Kafka 4.4 (KIP-848, KIP-932, KIP-1071).
var GroupConfigs = &ConfigDef{
	unknown: "Unknown group config name", code: kafka.InvalidConfig, whole: judgeGroup,
	keys: map[string]configKey{
		"consumer.assignment.interval.ms":           atLeast(typeInt, "1000", 0),
		"consumer.assignor.offload.enable":          boolean("true"),
		"consumer.heartbeat.interval.ms":            atLeast(typeInt, "5000", 1),
		"consumer.session.timeout.ms":               atLeast(typeInt, "45000", 1),
		"errors.deadletterqueue.copy.record.enable": boolean("false"),
		"errors.deadletterqueue.topic.name":         {typ: typeString},
		"share.assignment.interval.ms":              atLeast(typeInt, "1000", 0),
		"share.assignor.offload.enable":             boolean("true"),
		"share.auto.offset.reset":                   {typ: typeString, value: "latest", check: badReset},
		"share.delivery.count.limit":                atLeast(typeInt, "5", 2),
		"share.heartbeat.interval.ms":               atLeast(typeInt, "5000", 1),
		"share.isolation.level":                     oneOf("read_uncommitted", "read_committed", "read_uncommitted"),
		"share.partition.max.record.locks":          atLeast(typeInt, "2000", 100),
		"share.record.lock.duration.ms":             atLeast(typeInt, "30000", 1000),
		"share.renew.acknowledge.enable":            boolean("true"),
		"share.session.timeout.ms":                  atLeast(typeInt, "45000", 1),
		"streams.acceptable.recovery.lag":           atLeast(typeLong, "10000", 0),
		"streams.assignment.interval.ms":            atLeast(typeInt, "1000", 0),
		"streams.assignor.name":                     {typ: typeString},
		"streams.assignor.offload.enable":           boolean("true"),
		"streams.heartbeat.interval.ms":             atLeast(typeInt, "5000", 1),
		"streams.initial.rebalance.delay.ms":        atLeast(typeInt, "3000", 0),
		"streams.num.standby.replicas":              atLeast(typeInt, "0", 0),
		"streams.num.warmup.replicas":               atLeast(typeInt, "2", 0),
		"streams.rack.aware.assignment.tags":        {typ: typeList},
		"streams.session.timeout.ms":                atLeast(typeInt, "45000", 1),
		"streams.task.offset.interval.ms":           atLeast(typeInt, "60000", 1),
	},
}

// groupBounds are what a broker of Kafka 4.4 lets groups have, by default: its
// group.*.min.* and group.*.max.*, in the order in which it looks.
var groupBounds = []struct {
	name        string
	least, most int64
}{
	{"consumer.heartbeat.interval.ms", 5_000, 15_000},
	{"consumer.session.timeout.ms", 45_000, 60_000},
	{"consumer.assignment.interval.ms", 0, 15_000},
	{"share.heartbeat.interval.ms", 5_000, 15_000},
	{"share.session.timeout.ms", 45_000, 60_000},
	{"share.record.lock.duration.ms", 15_000, 60_000},
	{"share.delivery.count.limit", 2, 10},
	{"share.partition.max.record.locks", 100, 4_000},
	{"share.assignment.interval.ms", 0, 15_000},
	{"streams.heartbeat.interval.ms", 5_000, 15_000},
	{"streams.session.timeout.ms", 45_000, 60_000},
	{"streams.num.standby.replicas", math.MinInt64, 2},
	{"streams.assignment.interval.ms", 0, 15_000},
	{"streams.task.offset.interval.ms", 15_000, math.MaxInt64},
	{"streams.num.warmup.replicas", math.MinInt64, 20},
}

// judgeGroup checks what the group would have against the bounds of brokers. A
// session outlasts a heartbeat by these already.
func judgeGroup(values map[string]string) error {
	for _, b := range groupBounds {
		value, set := values[b.name]
		n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if !set || n >= b.least && n <= b.most {
			continue
		}
		want := fmt.Sprintf("in the range %d to %d inclusive.", b.least, b.most)
		switch {
		case b.least == math.MinInt64:
			want = fmt.Sprintf("less than or equal to %d", b.most)
		case b.most == math.MaxInt64:
			want = fmt.Sprintf("greater than or equal to %d", b.least)
		}
		return Faultf(kafka.InvalidConfig, "%s must be %s", b.name, want)
	}
	if name, set := values["streams.assignor.name"]; set && strings.TrimSpace(name) != "sticky" {
		return Faultf(kafka.InvalidConfig, "streams.assignor.name '%.64s' is not a registered task assignor. Registered assignors are: [sticky].", name)
	}
	if strings.HasPrefix(strings.TrimSpace(values["errors.deadletterqueue.topic.name"]), "__") {
		return Faultf(kafka.InvalidConfig, "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
	}
	seen := map[string]bool{}
	for _, tag := range listItems(values["streams.rack.aware.assignment.tags"]) {
		if seen[tag] {
			return Faultf(kafka.InvalidConfig, "streams.rack.aware.assignment.tags must not contain duplicate tag keys.")
		}
		seen[tag] = true
	}
	return nil
}

// isoDuration is a duration of ISO 8601 without years and months, not negative.
var isoDuration = regexp.MustCompile(`(?i)^P(\d+D)?(T(\d+H)?(\d+M)?(\d+([.,]\d{0,9})?S)?)?$`)

func badReset(value string) string {
	duration, timed := strings.CutPrefix(value, "by_duration:")
	whole := strings.ToUpper(duration)
	if value == "earliest" || value == "latest" || timed && isoDuration.MatchString(whole) && whole != "P" && !strings.HasSuffix(whole, "T") {
		return ""
	}
	return "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
}

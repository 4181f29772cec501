package admin

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
)

// The shortest and longest push interval of a client metrics subscription, in
// milliseconds (KIP-714).
const (
	minPushInterval = 100
	maxPushInterval = 3_600_000
)

// ClientMetricsConfigs are those of a client metrics subscription (KIP-714).
var ClientMetricsConfigs = &ConfigDef{
	unknown: "Unknown client metrics configuration", code: kafka.InvalidRequest, whole: judgeClientMetrics,
	keys: map[string]configKey{
		"metrics":     {typ: typeList},
		"interval.ms": {typ: typeInt, value: "300000"},
		"match":       {typ: typeList},
	},
}

func judgeClientMetrics(values map[string]string) error {
	if v, set := values["interval.ms"]; set {
		if ms, _ := strconv.Atoi(strings.TrimSpace(v)); ms < minPushInterval || ms > maxPushInterval {
			return Faultf(kafka.InvalidRequest, "Invalid value %d for interval.ms, interval must be between 100 and 3600000 (1 hour)", ms)
		}
	}
	if strings.TrimSpace(values["match"]) == "" {
		return nil
	}
	for _, pattern := range listItems(values["match"]) {
		name, value, _ := strings.Cut(pattern, "=")
		if value == "" || strings.Contains(strings.TrimRight(value, "="), "=") || !slices.Contains(matchable, strings.TrimSpace(name)) || !compiles(strings.TrimSpace(value)) {
			return Faultf(kafka.InvalidConfig, "Illegal client matching pattern: %.249s", pattern)
		}
	}
	return nil
}

// matchable are what a subscription may choose clients by.
var matchable = []string{
	"client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port",
}

// compiles reports whether Java's regular expressions may know a pattern. Go's
// are fewer: what Go refuses as an operator, an escape or a repetition that it
// does not have, a broker of Kafka is left to judge.
func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	var fault *syntax.Error
	if !errors.As(err, &fault) {
		return err == nil
	}
	return slices.Contains([]syntax.ErrorCode{
		syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatOp, syntax.ErrInvalidNamedCapture, syntax.ErrInvalidCharRange,
	}, fault.Code)
}

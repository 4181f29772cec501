package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kbench/harness/kafka"
	"kbench/harness/spec"
)

// measuresKafka reports whether a target of the spec is real Kafka.
func measuresKafka(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Targets, func(t spec.Target) bool { return t.Kafka() != "" })
}

// checkKafka looks for the real Kafka that the spec's targets need.
func checkKafka(s *spec.Spec, p place) error {
	var errs []error
	for _, t := range s.Targets {
		if t.Kafka() == "" {
			continue
		}
		if p.provider != "process" {
			errs = append(errs, fmt.Errorf("target %s: real Kafka is not run in containers yet; use --provider process", t))
			continue
		}
		if _, err := kafka.Find(t.Kafka()); err != nil {
			errs = append(errs, fmt.Errorf("target %s: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// examineKafka says which of the versions that are measured by default are here.
func examineKafka() finding {
	var have, cures []string
	for _, version := range []string{spec.KafkaZKVersion, spec.KafkaKRaftVersion} {
		inst, err := kafka.Find(version)
		if err != nil {
			cures = append(cures, err.Error())
			continue
		}
		have = append(have, fmt.Sprintf("%s from %s", version, inst.Libs))
	}
	if len(cures) > 0 {
		missing := "no real one; targets kafka-zk and kafka-kraft need it"
		if len(have) > 0 {
			missing = strings.Join(have, ", ")
		}
		return finding{"no", "Kafka", missing, strings.Join(cures, "\n                   ")}
	}
	return finding{"ok", "Kafka", strings.Join(have, ", "), ""}
}

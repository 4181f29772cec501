package main

import (
	"errors"
	"fmt"
	"strings"

	"kbench/harness/kafka"
	"kbench/harness/spec"
)

// checkKafka looks for the real Kafka that the spec's targets need. Containers
// are made of the same jars and Java.
func checkKafka(s *spec.Spec) error {
	var errs []error
	for _, t := range s.Targets {
		if t.Kafka() == "" {
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

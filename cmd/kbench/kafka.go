package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kbench/harness/docker"
	"kbench/harness/kafka"
	"kbench/harness/spec"
)

// checkKafka looks for the real Kafka that the spec's targets need. Containers
// are made of the same jars and Java, where the engine has no official image.
func checkKafka(ctx context.Context, s *spec.Spec, p place) error {
	var errs []error
	for _, t := range s.Targets {
		if t.Kafka() == "" {
			continue
		}
		_, err := kafka.Find(t.Kafka())
		if err == nil {
			continue
		}
		if p.provider == "docker" {
			has, herr := docker.HasKafka(ctx, t.Kafka())
			if has && herr == nil {
				continue
			}
			err = fmt.Errorf("%w; or `docker pull %s:%s`", err, docker.OfficialKafka, t.Kafka())
		}
		errs = append(errs, fmt.Errorf("target %s: %w", t, err))
	}
	return errors.Join(errs...)
}

// examineKafka says which of the versions that are measured by default are here.
func examineKafka(ctx context.Context) finding {
	var have, cures []string
	for _, version := range []string{spec.KafkaZKVersion, spec.KafkaKRaftVersion} {
		inst, err := kafka.Find(version)
		if err != nil {
			if has, herr := docker.HasKafka(ctx, version); has && herr == nil {
				have = append(have, fmt.Sprintf("%s for --provider docker, image %s:%[1]s", version, docker.OfficialKafka))
				continue
			}
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

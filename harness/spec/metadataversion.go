package spec

import (
	"fmt"

	"kbench/kafka/metadata"
)

// parseMetadataVersion reads a metadata.version; nothing is what the target
// begins with by itself.
func parseMetadataVersion(text string) (metadata.MetadataVersion, error) {
	if text == "" {
		return 0, nil
	}
	return metadata.ParseMetadataVersion(text)
}

func checkMetadataVersion(text string) error {
	if _, err := parseMetadataVersion(text); err != nil {
		return fmt.Errorf("%w; write one of Kafka's names, such as %s", err, metadata.DefaultMetadataVersion)
	}
	return nil
}

func formatMetadataVersion(v metadata.MetadataVersion) string {
	if v == 0 {
		return ""
	}
	return v.String()
}

// checkMetadataVersion judges whether each target's controllers have the
// metadata.version.
func (d *decoder) checkMetadataVersion(c Config, bad func(what, cure string, paths ...string)) {
	v := c.KRaft.MetadataVersion
	for _, t := range d.spec.Targets {
		if newest := t.newestMetadataVersion(); t.Kind() == KafkaKRaft && v > newest {
			bad(fmt.Sprintf("%s with target %s: Apache Kafka %s has %s at most", v, t, t.Kafka(), newest),
				fmt.Sprintf("write %s or an older one, or a newer version of Kafka", newest), "kraft.metadataVersion")
		}
	}
}

// newestMetadataVersion is the newest that the target's controllers have and
// kbench knows.
func (t Target) newestMetadataVersion() metadata.MetadataVersion {
	if v, known := metadata.NewestOf(t.Kafka()); known {
		return v
	}
	return metadata.NewestMetadataVersion
}

// MetadataVersion is what a cell of KRaft begins with: the metadata.version, and
// whether eligible leader replicas (KIP-966) are kept. known is false where real
// Kafka chooses and kbench does not know what.
func (c Cell) MetadataVersion() (v metadata.MetadataVersion, elr, known bool) {
	v = c.Config.KRaft.MetadataVersion
	switch kafka := c.Target.Kafka(); {
	case v != 0:
	case kafka == "":
		return metadata.DefaultMetadataVersion, false, true // without its release's other features
	default:
		if v, known = metadata.NewestOf(kafka); !known {
			return 0, false, false
		}
	}
	return v, v.ReleaseLevels()[metadata.ELRVersionFeature] > 0, true
}

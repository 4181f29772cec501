package metadata

import (
	"fmt"
	"strings"

	"kbench/kafka"
)

// maxTopicName leaves room for "-" and a partition number in the 255 bytes of
// a file name.
const maxTopicName = 249

// ValidateTopicName checks Kafka's rules for the name of a topic: 1 to 249 of
// the characters a-z, A-Z, 0-9, ".", "_" and "-", and neither "." nor "..".
// The error is for an INVALID_TOPIC_EXCEPTION and quotes at most the first
// bytes of a name that is too long.
func ValidateTopicName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the topic name is empty")
	case name == "." || name == "..":
		return fmt.Errorf("the topic name is %q, which names a directory", name)
	case len(name) > maxTopicName:
		return fmt.Errorf("the topic name %.32q... has %d characters, more than %d", name, len(name), maxTopicName)
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return fmt.Errorf("the topic name %q has a character other than a-z, A-Z, 0-9, '.', '_' and '-' at byte %d", name, i)
		}
	}
	return nil
}

// IsInternalTopic reports whether a name is kept for Kafka itself.
func IsInternalTopic(name string) bool {
	return name == kafka.MetadataTopic || name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}

// CollisionKey gives the form in which two topic names must differ: metrics
// cannot tell "." from "_".
func CollisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }

// mayCollide reports whether another name can have the same CollisionKey.
func mayCollide(name string) bool { return strings.ContainsAny(name, "._") }

package admin

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// AlteredConfig gives the value that one change of IncrementalAlterConfigs
// (KIP-339) comes to, nil for none; old is the value of now, "" for none. list
// says that the configuration is one, to which items can be added. The errors
// are INVALID_REQUEST and INVALID_CONFIG.
func AlteredConfig(c *kmsg.IncrementalAlterConfigsRequestResourceConfig, old string, list bool) (*string, error) {
	if c.Op == kmsg.IncrementalAlterConfigOpDelete {
		return nil, nil
	}
	if c.Value == nil {
		return nil, Faultf(kafka.InvalidRequest, "Null value not supported for : %s", c.Name)
	}
	switch c.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		return c.Value, nil
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
	default:
		return nil, Faultf(kafka.InvalidRequest, "Unknown operation type %d", c.Op)
	}
	if !list {
		return nil, Faultf(kafka.InvalidConfig, "Can't %s to key %s because its type is not LIST.", c.Op, c.Name)
	}
	items := splitList(old)
	for _, item := range splitList(*c.Value) {
		switch i := slices.Index(items, item); {
		case c.Op == kmsg.IncrementalAlterConfigOpAppend && i < 0:
			items = append(items, item)
		case c.Op == kmsg.IncrementalAlterConfigOpSubtract && i >= 0:
			items = slices.Delete(items, i, i+1)
		}
	}
	value := strings.Join(items, ",")
	return &value, nil
}

func splitList(s string) []string {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

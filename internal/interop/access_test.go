package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// everywhere asks the same of real brokers and of kbench's, until all answer
// alike: what one wrote reaches the others by notification.
func (r *rig) everywhere(t *testing.T, class string, words []string, has bool, part string) {
	t.Helper()
	for _, id := range []broker{real1, real3, first} {
		eventually(t, fmt.Sprintf("at broker %d: %s %s", id, class, strings.Join(words, " ")), func(context.Context) error {
			said := r.tool(t, class, id, words...)
			if strings.Contains(said, part) != has {
				return fmt.Errorf("%q, which should be there: %t, in: %s", part, has, said)
			}
			return nil
		})
	}
}

// storyConfigs: kafka-configs at a real broker and at one of kbench, for each
// kind of entity that ZooKeeper keeps.
func (r *rig) storyConfigs(t *testing.T) {
	for _, at := range []broker{real2, first} {
		for _, c := range []struct{ kind, name, set, shown string }{
			{"topics", orders, "retention.ms=86400000", "retention.ms=86400000"},
			{"brokers", "1", "log.cleaner.io.buffer.load.factor=0.8", "log.cleaner.io.buffer.load.factor=0.8"},
			{"brokers", "", "background.threads=8", "background.threads=8"},
			{"users", "alice", "producer_byte_rate=1048576", "producer_byte_rate=1048576.0"},
			{"clients", "reports", "consumer_byte_rate=2097152", "consumer_byte_rate=2097152.0"},
			{"ips", "127.0.0.9", "connection_creation_rate=20", "connection_creation_rate=20.0"},
			{"users", "bob", "SCRAM-SHA-256=[iterations=4096,password=secret]", "SCRAM-SHA-256=iterations=4096"},
		} {
			t.Run(fmt.Sprintf("%s-at-%d", c.kind+c.name, at), func(t *testing.T) {
				entity := []string{"--entity-type", c.kind, "--entity-name", c.name}
				if c.name == "" {
					entity = []string{"--entity-type", c.kind, "--entity-default"}
				}
				key, _, _ := strings.Cut(c.set, "=")
				wants(t, r.tool(t, kafkaConfigs, at, append([]string{"--alter", "--add-config", c.set}, entity...)...), "Completed updating")
				r.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), true, c.shown)
				wants(t, r.tool(t, kafkaConfigs, at, append([]string{"--alter", "--delete-config", key}, entity...)...), "Completed updating")
				r.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), false, c.shown)
			})
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// storyACLs: kafka-acls at a real broker and at one of kbench, literal and
// prefixed; the real brokers' authorizer and kbench's brokers list the same.
func (r *rig) storyACLs(t *testing.T) {
	for _, at := range []broker{real2, first} {
		for _, pattern := range []string{"literal", "prefixed"} {
			user := fmt.Sprintf("User:%s-%d", pattern, at)
			rule := []string{"--allow-principal", user, "--operation", "Read", "--topic", orders, "--resource-pattern-type", pattern}
			r.tool(t, kafkaACLs, at, append([]string{"--add"}, rule...)...)
			list := []string{"--list", "--topic", orders, "--resource-pattern-type", pattern}
			r.everywhere(t, kafkaACLs, list, true, "principal="+user)
			r.tool(t, kafkaACLs, at, append([]string{"--remove", "--force"}, rule...)...)
			r.everywhere(t, kafkaACLs, list, false, "principal="+user)
		}
	}
	if there, _, err := r.znodes.Exists("/kafka-acl/Topic/" + orders); err != nil || there {
		t.Error(errors.Join(errors.New("an empty ACL znode is left"), err))
	}
}

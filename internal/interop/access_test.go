package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/harness/process"
)

// everywhere asks the same of real brokers and of kbench's, until all answer
// alike: what one wrote reaches the others by notification.
func (c *cluster) everywhere(t *testing.T, class string, words []string, has bool, part string) {
	t.Helper()
	for _, id := range c.asks {
		eventually(t, fmt.Sprintf("at broker %d: %s %s", id, class, strings.Join(words, " ")), func(context.Context) error {
			said := c.tool(t, class, id, words...)
			if strings.Contains(said, part) != has {
				return fmt.Errorf("%q, which should be there: %t, in: %s", part, has, said)
			}
			return nil
		})
	}
}

// storyConfigs: kafka-configs for each kind of entity, at a broker that hosts
// replicas and at a candidate where there is one.
func (c *cluster) storyConfigs(t *testing.T) {
	worker := fmt.Sprint(c.asks[0])
	for _, at := range []broker{c.asks[1], c.front} {
		for _, e := range []struct{ kind, name, set, shown string }{
			{"topics", orders, "retention.ms=86400000", "retention.ms=86400000"},
			{"brokers", worker, "log.cleaner.io.buffer.load.factor=0.8", "log.cleaner.io.buffer.load.factor=0.8"},
			{"brokers", "", "background.threads=8", "background.threads=8"},
			{"users", "alice", "producer_byte_rate=1048576", "producer_byte_rate=1048576.0"},
			{"clients", "reports", "consumer_byte_rate=2097152", "consumer_byte_rate=2097152.0"},
			{"ips", "127.0.0.9", "connection_creation_rate=20", "connection_creation_rate=20.0"},
			{"users", "bob", "SCRAM-SHA-256=[iterations=4096,password=secret]", "SCRAM-SHA-256=iterations=4096"},
		} {
			entity := []string{"--entity-type", e.kind, "--entity-name", e.name}
			if e.name == "" {
				entity = []string{"--entity-type", e.kind, "--entity-default"}
			}
			key, _, _ := strings.Cut(e.set, "=")
			wants(t, c.tool(t, kafkaConfigs, at, append([]string{"--alter", "--add-config", e.set}, entity...)...), "Completed updating")
			c.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), true, e.shown)
			wants(t, c.tool(t, kafkaConfigs, at, append([]string{"--alter", "--delete-config", key}, entity...)...), "Completed updating")
			c.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), false, e.shown)
		}
	}
}

// storyACLs: no znode is left of a rule that is gone.
func (r *rig) storyACLs(t *testing.T) {
	r.cluster.storyACLs(t)
	if there, _, err := r.znodes.Exists("/kafka-acl/Topic/" + orders); err != nil || there {
		t.Error(errors.Join(errors.New("an empty ACL znode is left"), err))
	}
}

// storyACLs: kafka-acls at a real broker and at one of kbench, literal and
// prefixed; all list the same.
func (c *cluster) storyACLs(t *testing.T) {
	for _, at := range []broker{c.asks[1], c.front} {
		for _, pattern := range []string{"literal", "prefixed"} {
			user := fmt.Sprintf("User:%s-%d", pattern, at)
			rule := []string{"--allow-principal", user, "--operation", "Read", "--topic", orders, "--resource-pattern-type", pattern}
			c.tool(t, kafkaACLs, at, append([]string{"--add"}, rule...)...)
			list := []string{"--list", "--topic", orders, "--resource-pattern-type", pattern}
			c.everywhere(t, kafkaACLs, list, true, "principal="+user)
			c.tool(t, kafkaACLs, at, append([]string{"--remove", "--force"}, rule...)...)
			c.everywhere(t, kafkaACLs, list, false, "principal="+user)
		}
	}
}

// storySecurity: a user and a right that kafka-configs and kafka-acls give at a
// broker of kbench hold at the real brokers, which let the user in and write,
// and no longer once they are taken.
func (c *cluster) storySecurity(t *testing.T) {
	const user, password = "carol", "open-sesame"
	credential := []string{"--entity-type", "users", "--entity-name", user, "--alter"}
	right := []string{"--allow-principal", "User:" + user, "--operation", "Write", "--topic", orders}
	// says gives what a real broker tells the user of the topic.
	says := func(ctx context.Context, at broker) error {
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.secureAddr(at)), kgo.RequestRetries(0),
			kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
		if err != nil {
			return err
		}
		defer cl.Close()
		_, err = metadata(ctx, cl, orders)
		return err
	}
	await := func(want error) {
		t.Helper()
		for _, at := range realBrokers {
			eventually(t, fmt.Sprintf("at broker %d, of %s: %v", at, user, want), func(ctx context.Context) error {
				if got := says(ctx, at); !errors.Is(got, want) {
					return fmt.Errorf("it says: %w", got)
				}
				return nil
			})
		}
	}
	await(kerr.SaslAuthenticationFailed)
	c.tool(t, kafkaConfigs, c.front, append(credential, "--add-config", "SCRAM-SHA-256=[iterations=4096,password="+password+"]")...)
	await(kerr.TopicAuthorizationFailed)
	c.tool(t, kafkaACLs, c.front, append([]string{"--add"}, right...)...)
	await(nil)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.secureAddr(real1)), kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: orders, Value: []byte("of carol")}).FirstErr(); err != nil {
		t.Error(err)
	}
	c.held++
	c.tool(t, kafkaACLs, c.front, append([]string{"--remove", "--force"}, right...)...)
	await(kerr.TopicAuthorizationFailed)
	c.tool(t, kafkaConfigs, c.front, append(credential, "--delete-config", "SCRAM-SHA-256")...)
	await(kerr.SaslAuthenticationFailed)
}

func (c *cluster) secureAddr(id broker) string {
	return net.JoinHostPort(process.Host, strconv.Itoa(int(c.secure[id])))
}

package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kbench/harness/provider"
	features "kbench/kafka/metadata"
)

// storyNewestVersion: kafka-features raises metadata.version to the newest, with
// what only that one has, and is refused the way back, which would lose it.
func (k *kraft) storyNewestVersion(t *testing.T) {
	raise := fmt.Sprintf("%s=%d", features.MetadataVersionFeature, features.NewestMetadataVersion)
	unregister := []string{kafkaCluster, "unregister-controller", "--bootstrap-controller", k.addr(k.answering(k.controllers)[0]), "--id", fmt.Sprint(kafka3)}
	wants(t, k.words(t, unregister...), "MetadataVersion is too old to support controller unregistration") // and it exits 0
	rule := []string{"--allow-principal", "User:ranged", "--allow-host", "10.1.0.0/16", "--operation", "Read", "--topic", orders}
	k.fails(t, "require metadata version", append([]string{kafkaACLs, "--bootstrap-server", k.addr(k.front), "--add"}, rule...)...)
	k.awaitVersion(t, metadataVersion)
	k.tool(t, kafkaFeatures, k.front, "upgrade", "--feature", raise)
	k.awaitVersion(t, features.NewestMetadataVersion.String())

	back := fmt.Sprintf("%s=%d", features.MetadataVersionFeature, features.V4_3_IV0)
	k.fails(t, "might delete metadata information", kafkaFeatures, "--bootstrap-server", k.addr(k.front), "downgrade", "--feature", back)
	k.fails(t, "Unsafe metadata downgrade is not supported", kafkaFeatures, "--bootstrap-server", k.addr(k.front), "downgrade", "--unsafe", "--feature", back)
	k.awaitVersion(t, features.NewestMetadataVersion.String())

	if slices.Contains(k.controllers, kafka3) {
		wants(t, k.words(t, unregister...), fmt.Sprintf("Controller %d is no longer registered.", kafka3))
	} else {
		k.fails(t, "is not currently registered", unregister...)
	}
	k.tool(t, kafkaACLs, k.front, append([]string{"--add"}, rule...)...)
	k.everywhere(t, kafkaACLs, []string{"--list", "--topic", orders}, true, "host=10.1.0.0/16")
	if len(k.keepers) > 0 {
		k.serveAtNewest(t)
	}
}

// serveAtNewest: real brokers go on, and one of them registers anew.
func (k *kraft) serveAtNewest(t *testing.T) {
	const topic = "at-newest"
	done := k.faults.begin("a real broker stops at the newest metadata.version")
	k.signal(t, real1, provider.Term)
	k.restart(t, real1)
	k.awaitTopic(t, realBrokers, orders, ordersPartitions, replicated(realBrokers...))
	done()
	k.tool(t, kafkaTopics, k.front, "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "3")
	k.awaitTopic(t, k.all, topic, 3, replicated(realBrokers...))
	k.produce(t, topic, 30, 100)
	k.consume(t, topic, 30)
	k.consume(t, orders, k.held)
}

// awaitVersion waits until every broker that is asked has a metadata.version.
func (k *kraft) awaitVersion(t *testing.T, want string) {
	t.Helper()
	for _, id := range k.asks {
		eventually(t, fmt.Sprintf("%s at broker %d", want, id), func(context.Context) error {
			said := k.tool(t, kafkaFeatures, id, "describe")
			for line := range strings.Lines(said) {
				if strings.Contains(line, "Feature: "+features.MetadataVersionFeature) && strings.Contains(line, "FinalizedVersionLevel: "+want) {
					return nil
				}
			}
			return fmt.Errorf("it says: %s", said)
		})
	}
}

// fails runs a tool that must not exit 0, and say why.
func (k *kraft) fails(t *testing.T, why string, words ...string) {
	t.Helper()
	said, code, err := k.tools.run("", words...)
	if err != nil {
		t.Fatal(err)
	}
	if code == 0 {
		t.Fatalf("%s\nis not refused:\n%s", strings.Join(words, " "), said)
	}
	wants(t, said, why)
}

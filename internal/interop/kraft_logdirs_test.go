package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kbench/harness/provider"
	"kbench/kraftcontroller/metalog"
)

const kafkaLogDirs = "org.apache.kafka.tools.LogDirsCommand"

// jbod is the real broker that has two log directories.
const jbod = real3

// storyLogDirs: a real broker with two log directories tells the controllers of
// kbench where its replicas lie, and where kafka-reassign-partitions moves one.
// When a directory fails, the leaders in it move and no others; when it is back,
// so are its replicas.
func (k *kraft) storyLogDirs(t *testing.T) {
	const topic, partitions = "two-dirs", 4
	k.tool(t, kafkaTopics, k.front, "--create", "--topic", topic, "--replica-assignment", "3:1,3:2,3:1,3:2")
	ledByJBOD := func(n int32, p partition) error {
		if p.leader != jbod {
			return errors.New("the broker with two directories does not lead it")
		}
		return replicated()(n, p)
	}
	k.awaitTopic(t, k.all, topic, partitions, ledByJBOD)
	k.produce(t, topic, 40, 100)
	k.awaitAssigned(t, topic, partitions)

	// Partition 0 moves, and partition 1 where it is in the same directory then.
	to := k.otherDir(k.lies(t, topic)[0])
	plan := filepath.Join(t.TempDir(), "plan.json")
	text := fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[3,1],"log_dirs":[%q,"any"]},{"topic":%[1]q,"partition":1,"replicas":[3,2],"log_dirs":[%[3]q,"any"]}]}`,
		topic, to, k.otherDir(to))
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, k.tool(t, kafkaReassign, k.front, "--execute", "--reassignment-json-file", plan), "Successfully started moving log directory to "+to+" for replica two-dirs-0 with broker 3")
	eventually(t, "the replica is moved", func(context.Context) error {
		said := k.tool(t, kafkaReassign, k.front, "--verify", "--reassignment-json-file", plan)
		if strings.Count(said, "completed successfully.") != 2 {
			return errors.New(said)
		}
		return nil
	})
	lies := k.lies(t, topic)
	if lies[0] != to || lies[1] == to {
		t.Errorf("the replicas lie in %q, the first one not in %s", lies, to)
	}
	k.awaitAssigned(t, topic, partitions)
	wants(t, k.tool(t, kafkaLogDirs, k.front, "--describe", "--broker-list", fmt.Sprint(jbod), "--topic-list", topic), k.logDirs[jbod][0], k.logDirs[jbod][1])

	// Root may write anywhere, but not into a directory that is not there.
	lost := k.logDirs[jbod][1]
	failed := k.faults.open("a log directory fails", ofLostDir(lost))
	if err := os.Rename(lost, lost+".away"); err != nil {
		t.Fatal(err)
	}
	k.awaitTopic(t, k.all, topic, partitions, func(n int32, p partition) error {
		if lies[n] == lost {
			return notLedBy(jbod)(n, p)
		}
		return ledByJBOD(n, p)
	})
	k.produce(t, topic, 40, 100)
	if err := os.Rename(lost+".away", lost); err != nil {
		t.Fatal(err)
	}
	done := k.faults.begin("the broker with two log directories starts again")
	k.signal(t, jbod, provider.Term)
	failed()
	k.restart(t, jbod)
	k.awaitTopic(t, k.all, topic, partitions, replicated())
	k.awaitTopic(t, k.all, orders, ordersPartitions, replicated())
	done()
	if got := k.lies(t, topic); !slices.Equal(got, lies) {
		t.Errorf("replicas lie in %q, not in %q as before", got, lies)
	}
	k.consume(t, topic, 80)
}

// otherDir is the other of the two directories.
func (k *kraft) otherDir(dir string) string {
	return k.logDirs[jbod][1-slices.Index(k.logDirs[jbod], dir)]
}

// lies gives the directory of the jbod broker that each partition of a topic lies
// in, once each lies in one.
func (k *kraft) lies(t *testing.T, topic string) (at []string) {
	t.Helper()
	eventually(t, "each replica lies in one directory", func(context.Context) error {
		at = nil
		for n := 0; ; n++ {
			var found []string
			for _, dir := range k.logDirs[jbod] {
				if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%s-%d", topic, n))); err == nil {
					found = append(found, dir)
				}
			}
			switch len(found) {
			case 0:
				return nil
			case 1:
				at = append(at, found[0])
			default:
				return fmt.Errorf("partition %d lies in %q", n, found)
			}
		}
	})
	return at
}

// awaitAssigned waits until kafka-dump-log reads in the log of a controller that
// each replica of the jbod broker is in the directory that it lies in.
func (k *kraft) awaitAssigned(t *testing.T, topic string, partitions int) {
	t.Helper()
	lies := k.lies(t, topic)
	if len(lies) != partitions {
		t.Fatalf("the partitions lie in %q", lies)
	}
	want := make([]string, partitions)
	for n, dir := range lies {
		b, err := os.ReadFile(filepath.Join(dir, "meta.properties"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := metalog.DecodeMetaProperties(b)
		if err != nil {
			t.Fatal(err)
		}
		want[n] = m.DirectoryID.String()
	}
	eventually(t, "the controllers know where the replicas lie", func(context.Context) error {
		got, err := k.assigned(t, topic, partitions)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("they have %q, the replicas lie in %q", got, want)
		}
		return err
	})
}

// assigned gives the ids of the directories that the metadata has for the first
// replica of each partition of a topic.
func (k *kraft) assigned(t *testing.T, topic string, partitions int) ([]string, error) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(k.partition(ours1), "*.log"))
	if err != nil {
		return nil, err
	}
	said := k.words(t, kafkaDumpLog, "--cluster-metadata-decoder", "--files", strings.Join(files, ","))
	type record struct {
		Type string `json:"type"`
		Data struct {
			Name        string   `json:"name"`
			TopicID     string   `json:"topicId"`
			PartitionID int      `json:"partitionId"`
			Directories []string `json:"directories"`
		} `json:"data"`
	}
	out, id := make([]string, partitions), ""
	for line := range strings.Lines(said) {
		_, payload, ok := strings.Cut(line, "payload: ")
		var r record
		if !ok || json.Unmarshal([]byte(payload), &r) != nil {
			continue
		}
		switch {
		case r.Type == "TOPIC_RECORD" && r.Data.Name == topic:
			id = r.Data.TopicID
		case r.Data.TopicID == id && len(r.Data.Directories) > 0 && (r.Type == "PARTITION_RECORD" || r.Type == "PARTITION_CHANGE_RECORD"):
			out[r.Data.PartitionID] = r.Data.Directories[0]
		}
	}
	return out, nil
}

package machine

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// testdata/partition_changes.txt holds random partitions, wishes and what the
// PartitionChangeBuilder of Kafka 4.4.0 made of them, one a line: what goes in,
// ->, and the record, empty where nothing changes. Elections are numbered as
// Kafka does: 0 preferred, 1 online, 2 unclean. The directory of broker n is n.
// Left out are the cases where this machine wants to differ: replicas that are
// eligible after they were removed, and a last leader that is none.

func changeFields(s string) map[string]string {
	m := map[string]string{}
	for _, f := range strings.Fields(s) {
		k, v, _ := strings.Cut(f, "=")
		m[k] = v
	}
	return m
}

func changeIDs(s string) []kafka.BrokerID { return brokerIDs(numbers(s)) }

func changeDir(id kafka.BrokerID) kafka.UUID { return kafka.UUID{14: 1, 15: byte(id)} }

func changeDirs(ids []kafka.BrokerID) []kafka.UUID {
	dirs := make([]kafka.UUID, len(ids))
	for i, id := range ids {
		dirs[i] = changeDir(id)
	}
	return dirs
}

// kafkaChange makes the partition and the wish of a line.
func kafkaChange(in map[string]string) (partitionChange, *metadata.Partition) {
	version := metadata.MetadataVersion(number(in["level"]))
	p := &metadata.Partition{
		Replicas: changeIDs(in["replicas"]), ISR: changeIDs(in["isr"]), AddingReplicas: changeIDs(in["adding"]), RemovingReplicas: changeIDs(in["removing"]),
		Leader: kafka.BrokerID(number(in["leader"])), LeaderEpoch: 7, PartitionEpoch: 9,
		Eligible: &metadata.Eligible{ELR: changeIDs(in["elr"]), LastKnown: changeIDs(in["last"])},
	}
	if in["recovering"] == "true" {
		p.LeaderRecoveryState = kafka.Recovering
	}
	if version.HasDirectories() {
		p.Directories = changeDirs(p.Replicas)
	}
	live := changeIDs(in["live"])
	c := partitionChange{
		version: version, elr: in["elr-on"] == "true", minISR: number(in["min"]), unclean: kafka.BrokerID(number(in["unclean"])),
		moved: kafka.NoLeader, directory: changeDir,
		electorate: func(id kafka.BrokerID) *metadata.Broker {
			if slices.Contains(live, id) {
				return &metadata.Broker{ID: id}
			}
			return nil
		},
	}
	c.begin(p)
	c.isr = changeIDs(in["want-isr"])
	c.election = []election{electPreferred, electOnline, electUnclean}[number(in["election"])]
	if _, ok := in["want-replicas"]; ok {
		c.replicas, c.adding, c.removing = changeIDs(in["want-replicas"]), changeIDs(in["want-adding"]), changeIDs(in["want-removing"])
	}
	return c, p
}

// changeText writes a record as the lines do.
func changeText(r *metadata.PartitionChangeRecord) string {
	var b strings.Builder
	list := func(name string, ids []kafka.BrokerID) {
		if ids != nil {
			fmt.Fprintf(&b, " %s=%s", name, strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]"))
		}
	}
	list("isr", r.ISR)
	if r.Leader != metadata.LeaderUnchanged {
		fmt.Fprintf(&b, " leader=%d", r.Leader)
	}
	list("replicas", r.Replicas)
	list("adding", r.AddingReplicas)
	list("removing", r.RemovingReplicas)
	if r.LeaderRecoveryState != metadata.RecoveryStateUnchanged {
		fmt.Fprintf(&b, " recovery=%d", r.LeaderRecoveryState)
	}
	list("elr", r.EligibleLeaderReplicas)
	list("last", r.LastKnownELR)
	if r.Directories != nil {
		var ids []kafka.BrokerID
		for _, d := range r.Directories {
			ids = append(ids, kafka.BrokerID(d[15]))
		}
		list("dirs", ids)
	}
	return b.String()
}

// TestChangesAsKafka compares every change with Kafka's own.
func TestChangesAsKafka(t *testing.T) {
	f, err := os.Open("testdata/partition_changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, different := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		in, want, _ := strings.Cut(s.Text(), "->")
		c, p := kafkaChange(changeFields(in))
		record, changed := c.record(kafka.UUID{1}, 0, p)
		if got := changeText(record); got != want || changed != (want != "") {
			if different++; different < 20 {
				t.Errorf("%s\n got%s\nwant%s", in, got, want)
			}
		}
	}
	if lines < 1000 || different > 0 {
		t.Errorf("%d of %d changes differ", different, lines)
	}
}

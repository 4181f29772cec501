package zkcontroller

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

func TestStateLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state-change.log")
	l, err := openStateLog(path, 3)
	if err != nil {
		t.Fatal(err)
	}
	s := machine.LeaderISR{Leader: 1, LeaderEpoch: 4, Version: 6, ISR: []kafka.BrokerID{1, 2}}
	for _, e := range []machine.Effect{
		&machine.LeaderAndISR{Broker: 1, Partitions: []machine.LeaderAndISRPartition{{Topic: "t", Partition: 0, State: s}, {Topic: "t", Partition: 1, State: s}}},
		&machine.LeaderAndISR{Broker: 2, Partitions: []machine.LeaderAndISRPartition{{Topic: "t", Partition: 0, State: s}}},
		&machine.UpdateMetadata{Broker: 1, Partitions: []machine.MetadataPartition{{Topic: "t", Partition: 0, State: s}}},
		&machine.StopReplica{Broker: 2, Partitions: []machine.StopReplicaPartition{{Topic: "t", Partition: 0, Delete: true}}},
		&machine.Note{Text: "no line"},
	} {
		l.write(7, e)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^\[[^]]*\] `).ReplaceAllString(string(data), "")
	want := `TRACE [Controller id=3 epoch=7] Sending become-leader LeaderAndIsr request (leader=1,leaderEpoch=4,isr=1 2,partitionEpoch=6) to broker 1 for partition t-0
TRACE [Controller id=3 epoch=7] Sending become-leader LeaderAndIsr request (leader=1,leaderEpoch=4,isr=1 2,partitionEpoch=6) to broker 1 for partition t-1
TRACE [Controller id=3 epoch=7] Sending become-follower LeaderAndIsr request (leader=1,leaderEpoch=4,isr=1 2,partitionEpoch=6) to broker 2 for partition t-0
TRACE [Controller id=3 epoch=7] Sending UpdateMetadata request (leader=1,leaderEpoch=4,isr=1 2,partitionEpoch=6) to broker 1 for partition t-0
TRACE [Controller id=3 epoch=7] Sending StopReplica request (delete=true) to broker 2 for partition t-0
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if l.write(7, &machine.StopReplica{Partitions: make([]machine.StopReplicaPartition, 1)}); l.err == nil || l.close() == nil {
		t.Error("a write to a closed file goes unnoticed")
	}
	var none *stateLog
	none.write(1, &machine.StopReplica{})
	if err := none.close(); err != nil {
		t.Error(err)
	}
	if _, err := New(Config{ID: 1, Servers: []string{"x"}, StateChangeLog: filepath.Join(path, "x")}); err == nil || !strings.Contains(err.Error(), "state change log") {
		t.Errorf("a log that cannot be opened: %v", err)
	}
}

package ibp

import (
	"fmt"
	"testing"
)

// The versions are those of Kafka 3.9's ControllerChannelManager, KafkaServer
// and AlterPartitionManager, at each level where something changes and just
// below it.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		level string
		want  string // LeaderAndIsr UpdateMetadata StopReplica ControlledShutdown AlterPartition
	}{
		{"0.8.2", "0 0 0 0 -1"},
		{"0.9.0", "0 1 0 1 -1"},
		{"0.10.0-IV0", "0 1 0 1 -1"},
		{"0.10.0", "0 2 0 1 -1"},
		{"0.10.2", "0 3 0 1 -1"},
		{"0.11.0", "0 3 0 1 -1"},
		{"1.0", "1 4 0 1 -1"},
		{"2.1", "1 4 0 1 -1"},
		{"2.2-IV0", "2 5 1 2 -1"},
		{"2.4-IV0", "3 5 1 2 -1"},
		{"2.4", "4 6 2 3 -1"},
		{"2.6", "4 6 3 3 -1"},
		{"2.7-IV1", "4 6 3 3 -1"},
		{"2.7", "4 6 3 3 1"},
		{"2.8-IV0", "4 6 3 3 3"},
		{"2.8", "5 7 3 3 3"},
		{"3.1", "5 7 3 3 3"},
		{"3.2", "6 7 3 3 3"},
		{"3.3", "6 7 3 3 3"},
		{"3.4", "7 8 4 3 3"},
		{"3.9", "7 8 4 3 3"},
	} {
		v, err := Parse(c.level)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(v.LeaderAndISR(), v.UpdateMetadata(), v.StopReplica(), v.ControlledShutdown(), v.AlterPartition())
		if got != c.want {
			t.Errorf("%s (%v): %s, want %s", c.level, v, got, c.want)
		}
	}
}

func TestFeaturesOfLevels(t *testing.T) {
	for _, c := range []struct {
		level string
		want  string
	}{
		{"0.9.0", "ids false recovery false pids false features false node 1 broker 2"},
		{"2.1", "ids false recovery false pids false features false node 1 broker 4"},
		{"2.6", "ids false recovery false pids false features false node 1 broker 4"},
		{"2.7", "ids false recovery false pids false features true node 1 broker 5"},
		{"2.8", "ids true recovery false pids false features true node 1 broker 5"},
		{"3.0", "ids true recovery false pids true features true node 1 broker 5"},
		{"3.3", "ids true recovery true pids true features true node 2 broker 5"},
	} {
		v, err := Parse(c.level)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("ids %v recovery %v pids %v features %v node %d broker %d",
			v.TopicIDs(), v.LeaderRecovery(), v.AllocateProducerIDs(), v.Features(), v.FeatureNode(), v.BrokerNode())
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.level, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"", "4.0", "3.9-IV1", "2", "3.9.2"} {
		if v, err := Parse(s); err == nil {
			t.Errorf("%q gave %v", s, v)
		}
	}
	for _, name := range names {
		if v, err := Parse(name); err != nil || v.String() != name {
			t.Errorf("%s gave %v, %v", name, v, err)
		}
	}
	if Default.String() != "3.9-IV0" {
		t.Error(Default)
	}
}

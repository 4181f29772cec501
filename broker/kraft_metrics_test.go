package broker

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"kbench/kafka/metadata"
)

// The metrics that a user of Kafka looks for on a broker say what is.
func TestKRaftGauges(t *testing.T) {
	r := newKRaftRig(t)
	p := r.start(1, nil)
	r.create("a", 3, 1)
	gauges := p.Gauges()
	eventually(t, "the broker has the topic", func() bool {
		return p.Image().NumPartitions() == 3 && gauges[appliedBean+"last-applied-record-offset"]() == int64(p.Image().Offset())
	})
	for name, want := range map[string]int64{
		appliedBean + "metadata-load-error-count": 0,
		loaderBean + "CurrentControllerId":        int64(r.voter.ID), loaderBean + "HandleLoadSnapshotCount": 0,
		loaderBean + "CurrentMetadataVersion":              int64(p.Image().FeatureLevel(metadata.MetadataVersionFeature)),
		assignmentsBean + "QueuedReplicaToDirAssignments":  0,
		"kafka.server:type=raft-metrics,name=current-vote": -1, "kafka.server:type=raft-metrics,name=current-leader": int64(r.voter.ID),
	} {
		if read, ok := gauges[name]; !ok || read() != want {
			t.Errorf("%s, which is there: %t, is not %d", name, ok, want)
		}
	}
	if at := gauges[appliedBean+"last-applied-record-timestamp"](); at <= 0 {
		t.Errorf("the timestamp is %d", at)
	}
	if lag := gauges[appliedBean+"last-applied-record-lag-ms"](); lag < 0 || lag > 600_000 {
		t.Errorf("the lag is %d ms", lag)
	}
	own := slices.DeleteFunc(slices.Sorted(maps.Keys(gauges)), func(name string) bool { return strings.Contains(name, "raft") })
	if len(own) != 8 {
		t.Errorf("the gauges are %q", own)
	}
}

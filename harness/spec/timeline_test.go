package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"kbench/workloads"
)

const timelineHead = "name: t\ntargets: [zk, kraft]\nworkloads: [{kind: propagation, duration: 20s}]\n"

func TestTimeline(t *testing.T) {
	s, err := Parse("t.yaml", []byte(timelineHead+`faults:
  - {at: 2s, for: 3s, kind: kill, on: controller}
  - {at: 8s, for: 2s, kind: delay, on: [broker-1, broker-2], delay: 10ms, jitter: 2ms}
  - {at: 12s, kind: restart, on: broker}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Faults) != 3 {
		t.Fatalf("%+v", s.Faults)
	}
	if f := s.Faults[1]; f.Fault != workloads.FaultDelay || f.At != 8*time.Second || f.For != 2*time.Second || f.Delay != 10*time.Millisecond || strings.Join(f.On, " ") != "broker-1 broker-2" {
		t.Errorf("%+v", f)
	}
	again, err := Parse("again.yaml", s.YAML())
	if err != nil || again.Hash() != s.Hash() {
		t.Errorf("the normalised form has another hash: %v\n%s", err, s.YAML())
	}
	for _, c := range s.Cells() {
		if len(c.Faults) != 3 || !c.Networked() || c.DiskFaults() {
			t.Errorf("%s: %+v", c.ID, c)
		}
	}
	without, err := Parse("t.yaml", []byte(timelineHead))
	if err != nil {
		t.Fatal(err)
	}
	if without.Hash() == s.Hash() || without.Cells()[0].Hash == s.Cells()[0].Hash {
		t.Error("faults do not change the hash")
	}
}

func TestTimelineRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown kind": {timelineHead + "faults: [{at: 1s, for: 1s, kind: fire, on: broker}]", `unknown value "fire"`},
		"no kind":      {timelineHead + "faults: [{at: 1s, for: 1s, on: broker}]", "faults[0].kind: missing"},
		"nobody":       {timelineHead + "faults: [{at: 1s, for: 1s, kind: kill}]", "faults[0].on: missing"},
		"no time":      {timelineHead + "faults: [{for: 1s, kind: kill, on: broker}]", "faults[0].at: missing"},
		"never undone": {timelineHead + "faults: [{at: 1s, kind: kill, on: broker}]", "faults[0].for: missing"},
		"not its own":  {timelineHead + "faults: [{at: 1s, for: 1s, kind: kill, on: broker, delay: 1s}]", "faults[0].delay: unknown key"},
		"how much":     {timelineHead + "faults: [{at: 1s, for: 1s, kind: loss, on: broker}]", "faults[0].lossPerMille: missing"},
		"jitter":       {timelineHead + "faults: [{at: 1s, for: 1s, kind: delay, on: broker, delay: 1ms, jitter: 2ms}]", "write at most the delay"},
		"twice":        {timelineHead + "faults: [{at: 1s, for: 1s, kind: split, on: [broker-1, broker-1]}]", "broker-1 is listed twice"},
		"too late":     {timelineHead + "faults: [{at: 19s, for: 2s, kind: kill, on: broker}]", "it ends at 21s, after the load of 20s"},
		"too late for one": {
			"name: t\ntargets: [zk]\nworkloads: [{kind: mixed, duration: 60s}, {kind: propagation, duration: 10s}]\nfaults: [{at: 40s, for: 1s, kind: kill, on: broker}]",
			"it ends at 41s, after the load of 10s, which propagation takes",
		},
		"no load":          {"name: t\nworkloads: [{kind: controller-failover}]\nfaults: [{at: 1s, for: 1s, kind: kill, on: broker}]", "no workload of this spec plays faults beside its load"},
		"no ZooKeeper":     {timelineHead + "faults: [{at: 1s, for: 1s, kind: kill, on: store}]", "kraft cannot have kill on store: it has no ZooKeeper"},
		"no session":       {timelineHead + "faults: [{at: 1s, kind: session-expiry, on: broker}]", "kraft cannot have session-expiry on broker"},
		"no disk":          {timelineHead + "faults: [{at: 1s, for: 1s, kind: fsync-delay, on: broker, delay: 10ms}]", "zk cannot have fsync-delay on broker: its nodes keep no metadata on disk"},
		"disk of a broker": {strings.Replace(timelineHead, "zk, kraft", "kraft", 1) + "faults: [{at: 1s, for: 1s, kind: disk-full, on: broker}]", "kraft cannot have disk-full on broker: its brokers fetch metadata again that their disks have lost"},
		"kbench's broker":  {strings.Replace(timelineHead, "zk, kraft", "kafka-kraft", 1) + "faults: [{at: 1s, for: 1s, kind: disk-full, on: broker-1}]", "its brokers fetch metadata again"},
		"kbench's, by zk":  {strings.Replace(timelineHead, "zk, kraft", "kafka-zk", 1) + "faults: [{at: 1s, for: 1s, kind: disk-full, on: broker-1}]", "its brokers keep no metadata on disk"},
		"no percentage":    {timelineHead + "faults: [{at: 1s, for: 1s, kind: cpu, on: controller}]", "write [{at: 5s, for: 3s, kind: cpu, on: controller, cpuPercent: 50}]"},
		"after a bad one":  {timelineHead + "faults: [{at: 1s, for: 1s, kind: restart, on: broker}, {at: 1s, for: 100h, kind: kill, on: broker}, {at: 3s, for: 1s, kind: kill, on: broker-9}]", "faults[2].on: zk cannot have kill on broker-9"},
		"disk of a JVM":    {strings.Replace(timelineHead, "zk, kraft", "kafka-kraft", 1) + "faults: [{at: 1s, for: 1s, kind: fsync-error, on: controller}]", "JVMs write their files themselves"},
		"disk of a real store": {
			strings.Replace(timelineHead, "zk, kraft", "zk", 1) + "faults: [{at: 1s, for: 1s, kind: fsync-error, on: store}]",
			"a real ZooKeeper is a JVM",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("t.yaml", []byte(c.text+"\n"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestRoster: a fault meets somebody of each cluster, or is refused where it is
// written, with whom it might meet.
func TestRoster(t *testing.T) {
	const offer = "write a role (controller, standby, broker, controllers, brokers) or a process (broker-1 to broker-3, controller-1001 to controller-1003)"
	kraft, zk := "targets: [kraft]\n", "targets: [zk]\n"
	for _, c := range []struct{ text, on, want string }{
		{kraft, "banana", `t.yaml:5:39: faults[0].on: kraft cannot have kill on banana: it has no "banana"; ` + offer},
		{kraft, "[broker-1, broker-99]", `t.yaml:5:50: faults[0].on: kraft cannot have kill on broker-99: it has no "broker-99"; ` + offer},
		{kraft, "broker-0", `it has no "broker-0"`},
		{kraft, "broker-01", `it has no "broker-01"`},
		{kraft, "controller-1", `it has no "controller-1"`},
		{kraft, "brokers-1-2", `it has no "brokers-1-2"`},
		{kraft, "store", "kraft cannot have kill on store: it has no ZooKeeper"},
		{kraft, "zookeeper-1", "it has no ZooKeeper"},
		{kraft, "[broker-1, controller-1003, standby, controllers]", ""},
		{kraft + "cluster: {controllers: 1}\n", "standby", "its one controller is the active one; write a role (controller, broker, controllers, brokers) or a process (broker-1 to broker-3, controller-1001)"},
		{kraft + "sweep: {brokers: [3, 2]}\ncluster: {replication: 2}\n", "broker-3", `it has no "broker-3"`},
		{kraft + "cluster: {controllers: colocated}\n", "controller-1001", `or a process (broker-1 to broker-3)`},
		{kraft + "cluster: {controllers: colocated, brokers: 1, replication: 1}\n", "broker", "its one broker is the active controller"},
		{kraft + "cluster: {brokers: 6, brokersPerNode: 3}\n", "[brokers-1-3, broker-5]", ""},
		{kraft + "cluster: {brokers: 6, brokersPerNode: 3}\n", "brokers-1-4", "it has no"},
		{zk, "[zookeeper-3, zookeeper-embedded, store-follower]", ""},
		{zk + "cluster: {store: embedded}\n", "store-follower", "its store is a single server, which leads"},
		{zk + "cluster: {store: embedded}\n", "zookeeper-2", `it has no "zookeeper-2"`},
		{zk + "cluster: {store: zookeeper}\n", "zookeeper-embedded", "its ZooKeeper is a real one"},
	} {
		t.Run(c.text+c.on, func(t *testing.T) {
			_, err := Parse("t.yaml", []byte("name: t\n"+c.text+"workloads: [{kind: propagation, duration: 20s}]\nfaults:\n  - {at: 1s, for: 1s, kind: kill, on: "+c.on+"}\n"))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestOverlap: two faults of one node are refused where the second is written,
// but where both only slow it down.
func TestOverlap(t *testing.T) {
	const stands = "where kill stands from 1s to 5s (faults[0]); begin it after that has healed, or name another node; one node takes delay, loss"
	for _, c := range []struct{ first, second, want string }{
		{"for: 4s, kind: kill, on: broker-1", "at: 3s, for: 1s, kind: pause, on: [broker-2, broker-1]", "t.yaml:6:5: faults[1]: pause begins at 3s on broker-1, " + stands},
		{"for: 4s, kind: kill, on: broker-1", "at: 5s, for: 1s, kind: kill, on: broker-1", "kill begins at 5s on broker-1, " + stands},
		{"for: 4s, kind: kill, on: broker-1", "at: 6s, for: 1s, kind: kill, on: broker-1", ""},
		{"for: 4s, kind: kill, on: broker-1", "at: 3s, for: 1s, kind: kill, on: broker-2", ""},
		{"for: 4s, kind: kill, on: brokers", "at: 3s, for: 1s, kind: kill, on: broker", "on broker-1 to broker-3"},
		{"for: 4s, kind: kill, on: broker", "at: 3s, for: 1s, kind: kill, on: broker", ""},
		{"for: 4s, kind: kill, on: controller", "at: 3s, for: 1s, kind: kill, on: controller", ""},
		{"for: 4s, kind: kill, on: controllers", "at: 3s, kind: restart, on: controller-1002", "restart begins at 3s on controller-1002"},
		{"kind: restart, on: broker-1", "at: 1s, for: 1s, kind: kill, on: broker-1", "kill begins at 1s on broker-1"},
		{"for: 4s, kind: delay, on: broker-1, delay: 5ms", "at: 3s, for: 1s, kind: loss, on: brokers, lossPerMille: 10", ""},
		{"for: 4s, kind: delay, on: broker-1, delay: 5ms", "at: 3s, for: 1s, kind: delay, on: broker-1, delay: 9ms", "where delay stands"},
		{"for: 4s, kind: delay, on: broker-1, delay: 5ms", "at: 3s, for: 1s, kind: isolate, on: broker-1", "where delay stands"},
	} {
		t.Run(c.first+"/"+c.second, func(t *testing.T) {
			_, err := Parse("t.yaml", []byte(timelineHead+"faults:\n  - {at: 1s, "+c.first+"}\n  - {"+c.second+"}\n"))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestFailLogDir: a log directory fails only where a broker of kbench's has several.
func TestFailLogDir(t *testing.T) {
	fault := func(on string) string { return "faults: [{at: 1s, for: 1s, kind: fail-log-dir, on: " + on + "}]\n" }
	targets := func(names, cluster string) string {
		return strings.Replace(timelineHead, "zk, kraft", names, 1) + cluster
	}
	for name, c := range map[string]struct{ text, want string }{
		"two":             {targets("zk, kraft, raft-push", "cluster: {logDirs: 2}\n") + fault("broker-1"), ""},
		"brokers of ours": {targets("kafka-zk, kafka-kraft", "cluster: {logDirs: 2}\n") + fault("[broker-1, broker-2]"), ""},
		"one":             {timelineHead + fault("broker"), "its brokers have one log directory, and would end with it; write cluster: {logDirs: 2}"},
		"one of a sweep":  {timelineHead + "sweep: {logDirs: [2, 1]}\n" + fault("broker"), "its brokers have one log directory"},
		"a controller":    {targets("zk", "cluster: {logDirs: 2}\n") + fault("[broker-1, controller]"), "brokers alone have log directories"},
		"JVMs":            {targets("kafka-kraft", "cluster: {logDirs: 2}\nset: {kafka.brokers: real}\n") + fault("broker"), "kafka-kraft cannot have fail-log-dir on broker: brokers of real Kafka write their files themselves"},
		"JVMs have one":   {targets("kafka-kraft", "cluster: {logDirs: 2}\nset: {kafka.brokers: real}\n"), "2 log directories with brokers of real Kafka, which kbench gives one"},
		"attach":          {targets("attach", "attach: {bootstrap: ['h:9092']}\n") + fault("broker"), "no layer can be put under the files of nodes that kbench did not start"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("t.yaml", []byte(c.text))
			if c.want == "" && err == nil {
				if cell := s.Cells()[0]; !cell.DiskFaults() || cell.Networked() || cell.Config.Cluster.LogDirs != 2 {
					t.Errorf("%+v", cell)
				}
				return
			}
			if c.want == "" || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A cluster without a control-plane listener is the one of before there was a
// choice.
func TestNoControlPlaneListenerChangesNoHash(t *testing.T) {
	cell := func(text string) Cell {
		s, err := Parse("t.yaml", []byte("name: t\ntargets: [zk]\nworkloads: [{kind: create-topics}]\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Cells()[0]
	}
	silent, none, one := cell(""), cell("set: {zk.controlPlaneListener: false}\n"), cell("set: {zk.controlPlaneListener: true}\n")
	if b, err := json.Marshal(silent.Config); err != nil || strings.Contains(string(b), "ControlPlane") {
		t.Errorf("%s, %v", b, err)
	}
	if silent.Hash != none.Hash || silent.Hash == one.Hash {
		t.Errorf("nothing said: %s, false: %s, true: %s", silent.Hash, none.Hash, one.Hash)
	}
}

// A cluster of one log directory is the one of before there was a choice.
func TestOneLogDirChangesNoHash(t *testing.T) {
	cell := func(text string) Cell {
		s, err := Parse("t.yaml", []byte(timelineHead+text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Cells()[0]
	}
	silent, one, two := cell(""), cell("cluster: {logDirs: 1}\n"), cell("cluster: {logDirs: 2}\n")
	if b, err := json.Marshal(silent.Config); err != nil || strings.Contains(string(b), "LogDirs") {
		t.Errorf("%s, %v", b, err)
	}
	if silent.Hash != one.Hash || silent.Hash == two.Hash {
		t.Errorf("nothing said: %s, one: %s, two: %s", silent.Hash, one.Hash, two.Hash)
	}
	if got := silent.Config.Map()["cluster.logDirs"]; got != "1" {
		t.Errorf("it is shown as %q", got)
	}
}

// TestEveryFaultIsListed: a kind that Go knows and specs do not could never be
// had.
func TestEveryFaultIsListed(t *testing.T) {
	for _, f := range []workloads.Fault{
		workloads.FaultStop, workloads.FaultKill, workloads.FaultPause, workloads.FaultRestart, workloads.FaultIsolate,
		workloads.FaultCut, workloads.FaultCutIn, workloads.FaultCutOut, workloads.FaultSplit, workloads.FaultDelay,
		workloads.FaultLoss, workloads.FaultRate, workloads.FaultFsyncDelay, workloads.FaultFsyncError, workloads.FaultDiskFull,
		workloads.FaultLogDir, workloads.FaultCPU, workloads.FaultExpire,
	} {
		if k, ok := faultKind(f); !ok || k.Doc == "" || k.Probe == "" {
			t.Errorf("%s: %+v", f, k)
		}
	}
}

package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustParse(t *testing.T, src string, o ...Override) *Spec {
	t.Helper()
	s, err := Parse("t.yaml", []byte(src), o...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const nightly = `name: nightly
targets: [zk, kraft]
cluster: {brokers: 3, controllers: 3, replication: 3, timeouts: matched}
sweep: {partitions: [1k, 10k, 100k]}
workloads:
  - {kind: controlled-shutdown, trials: 10}
  - {kind: controller-failover, how: kill, trials: 10, probe: {rate: 200/s}}
  - {kind: propagation, rate: 100/s, duration: 30s}
variants:
  - {name: linger-5ms, set: {kraft.append.linger: 5ms}}
thresholds:
  - 'kraft: recovery.controller.median < 4s'
`

func TestNightly(t *testing.T) {
	s := mustParse(t, nightly)
	cells := s.Cells()
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.ID)
	}
	want := []string{
		"zk.base.partitions-1k", "kraft.base.partitions-1k", "kraft.linger-5ms.partitions-1k",
		"zk.base.partitions-10k", "kraft.base.partitions-10k", "kraft.linger-5ms.partitions-10k",
		"zk.base.partitions-100k", "kraft.base.partitions-100k", "kraft.linger-5ms.partitions-100k",
	}
	if !reflect.DeepEqual(ids, want) {
		t.Errorf("cells %q\nwant  %q", ids, want)
	}
	c := cells[5].Config
	if c.Cluster.Partitions != 10_000 || c.KRaft.AppendLinger != 5*time.Millisecond || cells[4].Config.KRaft.AppendLinger != 25*time.Millisecond {
		t.Errorf("variant or point not applied: %+v", c)
	}
	if w := s.Workloads[1].Params; w.How != "kill" || w.Trials != 10 || w.ProbeRate != 200 {
		t.Errorf("workload %+v", w)
	}
	if th := s.Thresholds[0]; th.Target != "kraft" || th.Metric != "recovery.controller.first-admin" || th.Value != float64(4*time.Second) {
		t.Errorf("threshold %+v", th)
	}
}

func TestMatchedTimers(t *testing.T) {
	c := mustParse(t, "workloads: [{kind: propagation}]\ncluster: {timeouts: matched}\n").Base
	two := 2 * time.Second
	if c.ZK.SessionTimeout != two || c.KRaft.FetchTimeout != two || c.Broker.SessionTimeout != two ||
		c.Broker.HeartbeatInterval != 500*time.Millisecond || c.ZK.TickTime > 500*time.Millisecond {
		t.Errorf("matched timers %+v", c)
	}
	c = mustParse(t, "workloads: [{kind: propagation}]\n").Base
	if c.ZK.SessionTimeout != 18*time.Second || c.Broker.SessionTimeout != 9*time.Second || c.KRaft.FetchTimeout != two {
		t.Errorf("default timers %+v", c)
	}
}

func TestDefaultSpec(t *testing.T) {
	s, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Cells()); n != 6 || s.Trials != 3 || s.Base.Cluster.Timeouts != TimeoutsMatched || s.Base.Cluster.Replication != 3 {
		t.Errorf("%d cells, %+v", n, s)
	}
}

// TestBuiltins: a built-in spec is run by its name, unless a file has it.
func TestBuiltins(t *testing.T) {
	t.Chdir(t.TempDir())
	schema := compileSchema(t)
	for _, b := range Builtins() {
		if _, err := Load("specs/" + b.Name + ".yaml"); err != nil {
			t.Errorf("as a file: %v", err)
		}
		s, err := Load(b.Name)
		if err != nil || s.Name != b.Name || b.Doc == "" {
			t.Errorf("%s: %v, %v", b.Name, s, err)
			continue
		}
		for _, src := range []string{b.YAML, string(s.YAML())} {
			if err := validate(t, schema, src); err != nil {
				t.Errorf("%s: %v", b.Name, err)
			}
		}
	}
	if err := os.WriteFile("zk-history", []byte("name: mine\nworkloads: [{kind: propagation}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Load("zk-history"); err != nil || s.Name != "mine" {
		t.Errorf("the file of that name is not read: %v, %v", s, err)
	}
	if s, err := Default(); err != nil || s.Name != Builtins()[0].Name {
		t.Errorf("%v, %v", s, err)
	}
}

// TestDocumentedSpecs: what the documentation says to run can be run.
func TestDocumentedSpecs(t *testing.T) {
	files, err := filepath.Glob("../../docs/specs/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d specs, %v", len(files), err)
	}
	schema := compileSchema(t)
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); s.Name != want {
			t.Errorf("%s is named %s", file, s.Name)
		}
		if err := validate(t, schema, string(s.YAML())); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestHistoryLadder: each step of the history undoes what the one before did,
// and nothing else is changed twice.
func TestHistoryLadder(t *testing.T) {
	s, err := Load("zk-history")
	if err != nil {
		t.Fatal(err)
	}
	var before []Assignment
	for i, name := range []string{"before-1-1", "logging-fixed", "async", "batched"} {
		v := s.Variants[i]
		if v.Name != name {
			t.Fatalf("step %d is %s, want %s", i+1, v.Name, name)
		}
		for _, a := range v.Set {
			if i > 0 && !slices.Contains(before, a) {
				t.Errorf("%s sets %s, which the step before does not", name, a.Path)
			}
		}
		if i > 0 && len(v.Set) >= len(before) {
			t.Errorf("%s undoes nothing of the step before", name)
		}
		before = v.Set
	}
}

// TestRoundTrip: the normalised form means the same as what was written.
func TestRoundTrip(t *testing.T) {
	for _, src := range []string{
		nightly,
		string(DefaultYAML()),
		"workloads: [{kind: create-topics}]\ncluster: {store: embedded}\n",
		"workloads: [{kind: propagation}]\ntargets: [kraft]\nset: {kraft.metadataVersion: 4.1}\nvariants: [{name: newest, set: {kraft.metadataVersion: 4.4-IV2}}, {name: own, set: {kraft.metadataVersion: ''}}]\n",
		"workloads: [{kind: propagation}]\ntargets: [kafka-zk, kafka-kraft@4.1.0]\nset: {kafka.properties: \"num.io.threads=4; it's=a: #b\", kafka.jvm: -XX:+UseZGC}\nsweep: {kafka.heap: [1g, 512m]}\n",
		"name: \"it's: {a} #1\"\nworkloads: [{kind: propagation, rate: 20/m}]\ncluster: {controllers: colocated, ensemble: 1}\nset: {kraft: {append: {linger: 1ms}, preVote: false}, zk.maxInFlight: 1}\nsweep: {zk.fencedWrites: [true, false], brokers: [4, 5]}\n",
	} {
		s := mustParse(t, src)
		again, err := Parse("again.yaml", s.YAML())
		if err != nil {
			t.Errorf("normalised form of\n%s\ndoes not parse: %v\n%s", src, err, s.YAML())
			continue
		}
		if s.Hash() != again.Hash() || string(s.YAML()) != string(again.YAML()) {
			t.Errorf("hash or form moved:\n%s\n%s", s.YAML(), again.YAML())
		}
		if !sameCells(s.Cells(), again.Cells()) {
			t.Errorf("cells differ for\n%s", src)
		}
	}
}

func sameCells(a, b []Cell) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].ID != b[i].ID || a[i].Hash != b[i].Hash || a[i].Config != b[i].Config {
			return false
		}
	}
	return true
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		t       Target
		kind    Target
		version string
		zk      bool
	}{
		{ZK, ZK, "", true},
		{KRaft, KRaft, "", false},
		{KafkaZK, KafkaZK, KafkaZKVersion, true},
		{"kafka-zk@3.6.1", KafkaZK, "3.6.1", true},
		{KafkaKRaft, KafkaKRaft, KafkaKRaftVersion, false},
		{"kafka-kraft@3.9.2", KafkaKRaft, "3.9.2", false},
	} {
		if got, err := parseTarget(string(c.t)); err != nil || got != c.t {
			t.Errorf("%s: %s, %v", c.t, got, err)
		}
		if c.t.Kind() != c.kind || c.t.Kafka() != c.version || c.t.InZooKeeper() != c.zk {
			t.Errorf("%s: kind %s, version %q, in ZooKeeper %t", c.t, c.t.Kind(), c.t.Kafka(), c.t.InZooKeeper())
		}
	}
	if _, err := parseTarget("zk@3.9.2"); err == nil {
		t.Error("zk@3.9.2 was accepted")
	}
}

func TestOverrides(t *testing.T) {
	set := func(path, value string) Override { return Override{Origin: "--set", Path: path, Value: value} }
	s := mustParse(t, nightly,
		set("kraft.append.linger", "1ms"), set("trials", "7"), set("sweep.partitions", "[2k]"),
		set("workloads.propagation.rate", "5/s"), set("workloads.controller-failover.probe.rate", "50/s"),
		set("targets", "[kraft]"), set("brokers", "5"), set("name", "mine"))
	if s.Base.KRaft.AppendLinger != time.Millisecond || s.Trials != 7 || s.Workloads[2].Params.Rate != 5 || s.Workloads[1].Params.ProbeRate != 50 {
		t.Errorf("overrides not applied: %+v", s)
	}
	if len(s.Targets) != 1 || s.Base.Cluster.Brokers != 5 || s.Name != "mine" || s.Cells()[0].Config.Cluster.Partitions != 2000 {
		t.Errorf("overrides not applied: %+v", s)
	}
	if a, b := mustParse(t, nightly), mustParse(t, nightly, set("sweep.partitions", "[1k, 10_000, 100000]")); a.Hash() != b.Hash() {
		t.Error("two ways to write one spec have two hashes")
	}
}

func TestOverridesOfLists(t *testing.T) {
	set := func(path, value string) Override { return Override{Origin: "--set", Path: path, Value: value} }
	s := mustParse(t, nightly, set("trials", "2"), set("workloads", "[propagation, create-topics, controller-failover]"))
	if len(s.Workloads) != 3 || s.Workloads[0].Params.Rate != 100 || s.Workloads[1].Params.Trials != 2 || s.Workloads[2].Params.Trials != 2 {
		t.Errorf("%+v", s.Workloads)
	}
	const fixed = "workloads: [{kind: propagation}]\ncluster: {partitions: 5k}\n"
	if s := mustParse(t, fixed, set("sweep.partitions", "[1k, 2k]")); len(s.Cells()) != 4 {
		t.Errorf("an axis does not replace a fixed value: %+v", s.Sweep)
	}
}

// Whether a cell is tried again changes nothing of what it measures.
func TestRetries(t *testing.T) {
	s := mustParse(t, nightly+"retries: 2\n")
	if again := mustParse(t, string(s.YAML())); s.Retries != 2 || again.Retries != 2 {
		t.Errorf("%d retries, %d in the normalised form", s.Retries, again.Retries)
	}
	if !sameCells(s.Cells(), mustParse(t, nightly).Cells()) {
		t.Error("retries change the cells")
	}
	if mustParse(t, nightly+"retries: 0\n").Hash() != mustParse(t, nightly).Hash() {
		t.Error("the default written out is another spec")
	}
}

func TestCellUnderAnotherName(t *testing.T) {
	c := mustParse(t, nightly).Cells()[0]
	if a := c.As("b"); a.ID != "zk.b.partitions-1k" || a.Variant != "b" || a.Hash == c.Hash || a.Config != c.Config {
		t.Errorf("%+v", a)
	}
	if a := c.As(c.Variant); a.ID != c.ID || a.Hash != c.Hash {
		t.Error("the same name is another cell")
	}
}

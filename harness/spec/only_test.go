package spec

import (
	"slices"
	"strings"
	"testing"
)

const onlySpec = `targets: [kraft, kafka-kraft]
sweep: {partitions: [1k, 5k, 10k]}
workloads: [{kind: controlled-shutdown}]
variants:
  - {name: real, set: {kafka.brokers: real}, only: {partitions: [1k, 5k]}}
`

// A variant is measured at the points that it names, on the targets it acts on.
func TestOnly(t *testing.T) {
	ids := func(overrides ...Override) (out []string) {
		s, err := Parse("t.yaml", []byte(onlySpec), overrides...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again.yaml", s.YAML())
		if err != nil || again.Hash() != s.Hash() {
			t.Errorf("the normal form is another spec: %v\n%s", err, s.YAML())
		}
		for _, c := range s.Cells() {
			if c.Variant != BaseVariant {
				out = append(out, c.ID)
			}
		}
		return out
	}
	want := []string{"kafka-kraft.real.partitions-1k", "kafka-kraft.real.partitions-5k"}
	if got := ids(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	one := Override{Origin: "--partitions", Path: "sweep.partitions", Value: "5k,20k", List: true}
	if got := ids(one); !slices.Equal(got, want[1:]) {
		t.Errorf("with %+v: got %v, want %v", one, got, want[1:])
	}
	for _, c := range []struct{ with, says string }{
		{"{partitions: [3k]}", "3k is no value of the axis"},
		{"{brokers: [5]}", "cluster.brokers is not swept"},
	} {
		text := strings.Replace(onlySpec, "{partitions: [1k, 5k]}", c.with, 1)
		if _, err := Parse("t.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A real broker of ZooKeeper mode is a candidate whatever the spec says of
// controllers; the cell says what is run.
func TestRealBrokers(t *testing.T) {
	s, err := Parse("t.yaml", []byte("targets: [zk, kafka-zk, kafka-kraft]\nset: {kafka.brokers: real}\nworkloads: [{kind: controlled-shutdown}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Cells() {
		if got, want := c.Config.Cluster.Controllers == Colocated, c.Target == KafkaZK; got != want {
			t.Errorf("%s: colocated %t, want %t", c.ID, got, want)
		}
		if got, want := c.RealBrokers(), c.Target != ZK; got != want {
			t.Errorf("%s: real brokers %t, want %t", c.ID, got, want)
		}
	}
}

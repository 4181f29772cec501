package spec

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spec.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("spec.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate judges YAML by the schema alone, as an editor does.
func validate(t *testing.T, s *jsonschema.Schema, src string) error {
	t.Helper()
	j, err := yaml.YAMLToJSON([]byte(src))
	if err != nil {
		return err
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// TestSchemaAgreesWithDecoder: what can be judged without looking at two
// values together is judged alike by both.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	schema := compileSchema(t)
	const w = "workloads: [{kind: propagation}]\n"
	for _, src := range []string{
		nightly, string(DefaultYAML()), w,
		w + "cluster: {controllers: colocated, ensemble: 1}\n",
		w + "cluster: {controllers: 5, ensemble: \"3\"}\n",
		w + "set: {kraft: {append: {linger: 5ms}}, zk.fencedWrites: false, kraft.noop.interval: 0s}\n",
		w + "sweep: {zk.maxInFlight: [1, 10], kraft.preVote: [true, false]}\n",
		w + "trials: 1k\nseed: 0\nrepeats: 2\n",
		"workloads: [{kind: controller-failover, how: resign, probe: {rate: 1_000/s}}]\n",
		w + "targets: [kafka-zk, kafka-kraft, kafka-kraft@4.1.0]\nset: {kafka.properties: 'num.io.threads=4; a=b', kafka.heap: 512m, kafka.jvm: '-XX:+UseZGC -Da=b:c'}\n",
	} {
		if err := validate(t, schema, src); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", src, err)
		}
		mustParse(t, src)
	}
	for _, src := range []string{
		"name: x\n",
		"workloads: []\n",
		"workloads: [{kind: nope}]\n",
		"workloads: [{kind: propagation, rate: 100}]\n",
		"workloads: [{kind: propagation, how: kill}]\n",
		"workloads: [{kind: propagation, probe: {rat: 1/s}}]\n",
		w + "nope: 1\n",
		w + "trials: 0\n", w + "trials: many\n", w + "trials: [3]\n", w + "trials: 3.5\n",
		w + "targets: zk\n", w + "targets: [zk, zk]\n", w + "targets: [kafka]\n",
		w + "cluster: {brokers: 0}\n", w + "cluster: {brokers: x}\n", w + "cluster: {nope: 1}\n",
		w + "cluster: {timeouts: fast}\n", w + "cluster: {controllers: none}\n", w + "cluster: {ensemble: 2}\n",
		w + "set: {kraft.append.linger: 5}\n", w + "set: {kraft.append.linger: fast}\n", w + "set: {nope: 1}\n",
		w + "set: {zk.fencedWrites: maybe}\n",
		w + "sweep: {partitions: 5}\n", w + "sweep: {partitions: []}\n", w + "sweep: {nope: [1]}\n", w + "sweep: {partitions: [0]}\n",
		w + "variants: [{name: A, set: {kraft.append.linger: 5ms}}]\n", w + "variants: [{name: a}]\n",
		w + "thresholds: [fast]\n", w + "provider: cloud\n", w + "name: []\n",
	} {
		if validate(t, schema, src) == nil {
			t.Errorf("the schema accepts\n%s", src)
		}
		if _, err := Parse("t.yaml", []byte(src)); err == nil {
			t.Errorf("the decoder accepts\n%s", src)
		}
	}
}

// TestNormalFormFitsSchema holds for every spec that is accepted here.
func TestNormalFormFitsSchema(t *testing.T) {
	schema := compileSchema(t)
	for _, src := range []string{nightly, string(DefaultYAML())} {
		if err := validate(t, schema, string(mustParse(t, src).YAML())); err != nil {
			t.Error(err)
		}
	}
}

package spec

import (
	_ "embed"
	"strings"
)

//go:embed default.yaml
var defaultYAML []byte

//go:embed zk-history.yaml
var historyYAML []byte

//go:embed five-targets.yaml
var fiveYAML []byte

//go:embed attach.yaml
var attachYAML []byte

// Builtin is a spec that needs no file.
type Builtin struct {
	Name string
	Doc  string
	YAML string
}

// Builtins lists the specs that can be run by their names. The first one is
// what is run where none is named.
func Builtins() []Builtin {
	return []Builtin{
		{"zk-vs-kraft", "zk against kraft over a ladder of partitions, with matched 2 s timers", string(defaultYAML)},
		{"zk-history", "the steps by which Kafka's ZooKeeper-mode controller became fast, side by side", string(historyYAML)},
		{"five-targets", "the controllers of kbench, over pulled and pushed logs, and both of Apache Kafka, with kbench's brokers and with Kafka's, in one report", string(fiveYAML)},
	}
}

// Attached is what is measured on a cluster that is found, where no spec is
// named: an override gives its bootstrap.
func Attached(overrides ...Override) (*Spec, error) {
	return Parse("built-in spec of target attach", attachYAML, overrides...)
}

// builtin finds a built-in spec by its name, or by the name of the file that it
// would be: specs/NAME.yaml.
func builtin(name string) (Builtin, bool) {
	if file, ok := strings.CutPrefix(name, "specs/"); ok {
		name = strings.TrimSuffix(file, ".yaml")
	}
	for _, b := range Builtins() {
		if b.Name == name {
			return b, true
		}
	}
	return Builtin{}, false
}

// builtinNames are the names for a message.
func builtinNames() string {
	var names []string
	for _, b := range Builtins() {
		names = append(names, b.Name)
	}
	return strings.Join(names, ", ")
}

// Default is the built-in comparison: zk against kraft at 1k, 10k and 30k
// partitions with matched timers.
func Default(overrides ...Override) (*Spec, error) {
	return Parse("built-in spec", defaultYAML, overrides...)
}

// DefaultYAML is the source of the built-in comparison.
func DefaultYAML() []byte { return append([]byte(nil), defaultYAML...) }

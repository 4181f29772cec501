package kafka

import (
	"errors"
	"fmt"
	"strings"

	"kbench/harness/provider"
)

// Properties is a server.properties in the order in which it is written.
type Properties []provider.Property

// With gives p with the values of more: a key that is there gets the new value
// in its place, another one comes last. p is left as it is.
func (p Properties) With(more Properties) Properties {
	out := append(Properties(nil), p...)
	for _, m := range more {
		found := false
		for i := range out {
			if out[i].Key == m.Key {
				out[i].Value, found = m.Value, true
			}
		}
		if !found {
			out = append(out, m)
		}
	}
	return out
}

// File is the text of the file. Values are written as Java's Properties reads
// them: a backslash stands for itself when it is doubled.
func (p Properties) File() string {
	var b strings.Builder
	for _, one := range p {
		fmt.Fprintf(&b, "%s=%s\n", one.Key, strings.ReplaceAll(one.Value, `\`, `\\`))
	}
	return b.String()
}

// String is one line for people, and what Parse reads.
func (p Properties) String() string {
	words := make([]string, len(p))
	for i, one := range p {
		words[i] = one.Key + "=" + one.Value
	}
	return strings.Join(words, "; ")
}

// Parse reads key=value; key=value. Its error names every fault.
func Parse(text string) (Properties, error) {
	var out Properties
	var errs []error
	seen := map[string]bool{}
	for word := range strings.SplitSeq(text, ";") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		key, value, ok := strings.Cut(word, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok || key == "" || strings.ContainsAny(key, " \t:"):
			errs = append(errs, fmt.Errorf("%q is not key=value", word))
		case seen[key]:
			errs = append(errs, fmt.Errorf("%s is given twice", key))
		case owned[key] != "":
			errs = append(errs, fmt.Errorf("%s %s", key, owned[key]))
		}
		seen[key] = true
		out = append(out, provider.Property{Key: key, Value: value})
	}
	return out, errors.Join(errs...)
}

// owned are the properties that a cluster cannot do without as kbench sets
// them, and why.
var owned = map[string]string{
	"broker.id":                   "is numbered by kbench",
	"node.id":                     "is numbered by kbench",
	"process.roles":               "follows from the target",
	"listeners":                   "is chosen by kbench, so that it finds the node",
	"advertised.listeners":        "is chosen by kbench, so that it finds the node",
	"controller.quorum.voters":    "follows from the cluster",
	"controller.listener.names":   "is chosen by kbench",
	"control.plane.listener.name": "needs a listener of that name, which kbench gives every node; use zk.controlPlaneListener",
	"zookeeper.connect":           "follows from the cluster",
	"log.dirs":                    "is the node's own directory; use --data-dir",
	"log.dir":                     "is the node's own directory; use --data-dir",
	"metadata.log.dir":            "is the node's own directory; use --data-dir",
	"broker.id.generation.enable": "must be false, since ids are given",
}

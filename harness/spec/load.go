package spec

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Override gives one key of a spec another value, as `--set path=value` does.
type Override struct {
	Origin string // how it was given, for messages: --partitions, --set
	Path   string // sweep.partitions, kraft.append.linger, workloads.propagation.rate
	Value  string // YAML
}

//go:embed default.yaml
var defaultYAML []byte

// Default is the built-in comparison: zk against kraft at 1k, 10k and 30k
// partitions with matched timers.
func Default(overrides ...Override) (*Spec, error) {
	return Parse("built-in spec", defaultYAML, overrides...)
}

// DefaultYAML is the source of the built-in comparison.
func DefaultYAML() []byte { return append([]byte(nil), defaultYAML...) }

// Load reads the spec at path. The error is a [Faults] where the spec can be
// read but not used.
func Load(path string, overrides ...Override) (*Spec, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, src, overrides...)
}

// readFile reads at most one byte more than a spec may hold, from regular
// files only: a pipe or device could hang.
func readFile(path string) ([]byte, error) {
	one := func(what, cure string) error {
		return Faults{{At: Place{File: path}, What: what, Cure: cure}}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, one("no such file", "name a YAML file, or run without a spec for the built-in comparison")
	case err != nil:
		return nil, one(err.Error(), "name a YAML file that can be read")
	case info.IsDir():
		return nil, one("is a directory", "name the YAML file in it")
	case !info.Mode().IsRegular():
		return nil, one("is not a regular file", "name a YAML file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, one(err.Error(), "name a YAML file that can be read")
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, one(err.Error(), "name a YAML file that can be read")
	}
	return src, nil
}

// Parse reads a spec from memory; name stands for it in messages. The error
// is a [Faults] that lists everything that is wrong.
func Parse(name string, src []byte, overrides ...Override) (*Spec, error) {
	place := func(line, col int) Place { return Place{File: name, Line: line, Col: col} }
	root, faults := readTree(src, place)
	if root == nil {
		return nil, faults.sorted()
	}
	tabs := make(map[int]bool)
	for _, f := range faults {
		tabs[f.At.Line] = true
	}
	d := decoder{rootAt: place(0, 0)}
	for _, o := range overrides {
		d.override(root, o)
	}
	d.decode(root)
	for _, f := range d.faults {
		// A line with a tab was read by a guess at its indentation.
		if f.At.Line == 0 || !tabs[f.At.Line] {
			faults = append(faults, f)
		}
	}
	if len(faults) > 0 {
		return nil, faults.sorted()
	}
	return &d.spec, nil
}

// override puts one value into the tree before it is decoded, so that it is
// judged like one written in the file.
func (d *decoder) override(root *node, o Override) {
	at := Place{File: fmt.Sprintf("%s %s", o.Origin, o.Value)}
	if o.Origin == "--set" {
		at = Place{File: fmt.Sprintf("--set %s=%s", o.Path, o.Value)}
	}
	val, faults := readTree([]byte(o.Value), func(int, int) Place { return at })
	if len(faults) > 0 {
		d.fault(at, o.Path, "not a YAML value: "+faults[0].What, "write --set path=value, such as --set trials=5")
		return
	}
	if root.kind != nodeMapping {
		return // decode names the fault
	}
	parts := strings.Split(o.Path, ".")
	if parts[0] == "workloads" && len(parts) >= 2 {
		d.overrideWorkloads(root, at, parts[1], parts[2:], val)
		return
	}
	if axis, ok := strings.CutPrefix(o.Path, "sweep."); ok {
		overrideAxis(root, axis, val)
		return
	}
	if s, ok := settingAt(strings.TrimPrefix(o.Path, "set.")); ok {
		d.overrideSetting(root, at, s.path, val)
		return
	}
	if !slices.Contains(topKeys, parts[0]) {
		d.fault(at, o.Path, "unknown path", cureSetting(o.Path))
		return
	}
	putPath(root, parts, val)
}

// overrideAxis replaces an axis of the sweep, however its path was written.
func overrideAxis(root *node, axis string, val *node) {
	sweep := root.lookup("sweep")
	if sweep == nil || sweep.kind != nodeMapping {
		sweep = &node{kind: nodeMapping, at: val.at}
		root.put("sweep", sweep)
	}
	for i, f := range sweep.fields {
		if canonicalPath(f.key) == canonicalPath(axis) {
			sweep.fields[i] = field{key: axis, at: val.at, val: val}
			return
		}
	}
	sweep.put(axis, val)
}

// overrideSetting writes a setting to its section and clears other places
// that would contradict it.
func (d *decoder) overrideSetting(root *node, at Place, path string, val *node) {
	if name, ok := strings.CutPrefix(path, "cluster."); ok {
		putPath(root, []string{"cluster", name}, val)
		return
	}
	set := root.lookup("set")
	if set == nil || set.kind != nodeMapping {
		set = &node{kind: nodeMapping, at: at}
		root.put("set", set)
	}
	set.remove(path)
	set.put(path, val)
}

// overrideWorkloads changes a parameter of every workload of a kind.
func (d *decoder) overrideWorkloads(root *node, at Place, kind string, rest []string, val *node) {
	list := root.lookup("workloads")
	found := false
	var kinds []string
	if list != nil {
		for _, w := range list.items {
			k := w.lookup("kind")
			if k == nil {
				continue
			}
			kinds = append(kinds, k.text)
			if k.text == kind && len(rest) > 0 {
				putPath(w, rest, val)
				found = true
			}
		}
	}
	switch {
	case len(rest) == 0:
		d.fault(at, "workloads."+kind, "names no parameter", "write --set workloads.propagation.rate=50/s")
	case !found:
		d.fault(at, "workloads."+kind, fmt.Sprintf("no workload of kind %q in this spec", kind), didYouMean(kind, kinds))
	}
}

// putPath sets a nested key, making mappings on the way.
func putPath(n *node, path []string, val *node) {
	for _, key := range path[:len(path)-1] {
		next := n.lookup(key)
		if next == nil || next.kind != nodeMapping {
			next = &node{kind: nodeMapping, at: val.at}
			n.put(key, next)
		}
		n = next
	}
	n.put(path[len(path)-1], val)
}

// remove deletes a dotted path, written dotted or nested.
func (n *node) remove(path string) {
	var kept []field
	for _, f := range n.fields {
		if f.key == path {
			continue
		}
		if rest, ok := strings.CutPrefix(path, f.key+"."); ok && f.val.kind == nodeMapping {
			f.val.remove(rest)
		}
		kept = append(kept, f)
	}
	n.fields = kept
}

package spec

import (
	"fmt"
	"slices"
	"strings"
)

// override puts one value into the tree before it is decoded, so that it is
// judged like one written in the file.
func (d *decoder) override(root *node, o Override) {
	at := Place{File: fmt.Sprintf("%s %s", o.Origin, o.Value)}
	if o.Origin == "--set" {
		at = Place{File: fmt.Sprintf("--set %s=%s", o.Path, o.Value)}
	}
	val, faults := o.tree(at)
	if len(faults) > 0 {
		cure := "write --set path=value, such as --set trials=5"
		if o.Origin != "--set" {
			cure = "see `kbench run --help`"
		}
		d.fault(at, o.Path, "not a value: "+faults[0].What, cure)
		return
	}
	if root.kind != nodeMapping {
		return // decode names the fault
	}
	parts := strings.Split(o.Path, ".")
	if o.Path == "workloads" && val.isNames() {
		selectWorkloads(root, val)
		return
	}
	if o.Path == "trials" {
		removeFromWorkloads(root, "trials") // the override reaches every workload
	}
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

// tree reads the value. A list on the command line is words between commas.
func (o Override) tree(at Place) (*node, Faults) {
	if !o.List {
		return readTree([]byte(o.Value), func(int, int) Place { return at })
	}
	out := &node{kind: nodeList, at: at}
	for _, word := range strings.Split(o.Value, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			return nil, Faults{{At: at, What: "an empty word in the list"}}
		}
		out.items = append(out.items, &node{kind: nodeScalar, at: at, text: word})
	}
	return out, nil
}

// overrideAxis replaces an axis of the sweep, however its path was written,
// and a fixed value of the same setting.
func overrideAxis(root *node, axis string, val *node) {
	if s, ok := settingAt(axis); ok {
		removeSetting(root, s.path)
	}
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

// removeSetting takes a fixed value out of cluster and set.
func removeSetting(root *node, path string) {
	if c := root.lookup("cluster"); c != nil {
		c.remove(strings.TrimPrefix(path, "cluster."))
	}
	if s := root.lookup("set"); s != nil {
		s.remove(path)
		s.remove(strings.TrimPrefix(path, "cluster."))
	}
}

// isNames reports whether n is a list of words.
func (n *node) isNames() bool {
	for _, item := range n.items {
		if item.kind != nodeScalar {
			return false
		}
	}
	return n.kind == nodeList && len(n.items) > 0
}

// selectWorkloads keeps the workloads of the kinds named, with the spec's
// parameters, and adds those that the spec does not have.
func selectWorkloads(root *node, names *node) {
	out := &node{kind: nodeList, at: names.at}
	list := root.lookup("workloads")
	for _, name := range names.items {
		found := false
		if list != nil {
			for _, w := range list.items {
				if k := w.lookup("kind"); k != nil && k.text == name.text {
					out.items, found = append(out.items, w), true
				}
			}
		}
		if !found {
			w := &node{kind: nodeMapping, at: name.at}
			w.put("kind", name)
			out.items = append(out.items, w)
		}
	}
	root.put("workloads", out)
}

func removeFromWorkloads(root *node, param string) {
	if list := root.lookup("workloads"); list != nil {
		for _, w := range list.items {
			w.remove(param)
		}
	}
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

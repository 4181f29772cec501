package spec

import (
	"fmt"
	"slices"
	"strings"

	"kbench/workloads"
)

// cluster reads the cluster section: settings without their prefix.
func (d *decoder) cluster(n *node) {
	if !d.isKind(n, "cluster", nodeMapping, "write {brokers: 3, replication: 3}") {
		return
	}
	var known []string
	for _, s := range settings {
		if name, ok := strings.CutPrefix(s.path, "cluster."); ok {
			known = append(known, name)
		}
	}
	for _, f := range d.fields(n, "cluster", known) {
		if a, ok := d.assignment("cluster", f, "cluster."+f.key); ok {
			d.spec.base = append(d.spec.base, a)
		}
	}
}

// assignments reads a mapping of setting paths, written dotted or nested:
// {kraft.append.linger: 5ms} and {kraft: {append: {linger: 5ms}}} are one.
func (d *decoder) assignments(n *node, path string) []assigned {
	if !d.isKind(n, path, nodeMapping, "write {kraft.append.linger: 5ms}") {
		return nil
	}
	var out []assigned
	seen := make(map[string]Place)
	d.walkAssignments(n, path, "", func(f field, setting string) {
		a, ok := d.assignment(path, f, setting)
		if !ok {
			return
		}
		if before, double := seen[a.Path]; double {
			d.fault(f.at, path, fmt.Sprintf("%s is set twice, first on line %d", a.Path, before.Line), "keep one")
			return
		}
		seen[a.Path] = f.at
		out = append(out, a)
	})
	return out
}

func (d *decoder) walkAssignments(n *node, path, prefix string, visit func(field, string)) {
	for _, f := range d.fields(n, join(path, prefix), nil) {
		full := join(prefix, f.key)
		if f.val.kind == nodeMapping {
			d.walkAssignments(f.val, path, full, visit)
			continue
		}
		visit(f, full)
	}
}

// assignment judges one setting and its value and returns both in canonical
// form.
func (d *decoder) assignment(section string, f field, path string) (assigned, bool) {
	s, ok := settingAt(path)
	if !ok {
		d.fault(f.at, join(section, path), "unknown setting", cureSetting(path))
		return assigned{}, false
	}
	value, ok := d.settingValue(s, f.val)
	return assigned{Assignment{s.path, value}, f.val.at}, ok
}

// cureSetting names the setting that was meant; all of them would be too many.
func cureSetting(path string) string {
	if s := Suggest(path, settingPaths(true)); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	return "`kbench list settings` names them all"
}

// settingValue parses a value of a setting and returns its canonical form.
func (d *decoder) settingValue(s param[Config], n *node) (string, bool) {
	text, ok := d.scalar(n, s.path)
	if !ok {
		return "", false
	}
	var c Config
	if err := s.set(&c, text); err != nil {
		d.faultErr(n.at, s.path, err)
		return "", false
	}
	return s.get(&c), true
}

func (d *decoder) sweep(n *node) { d.spec.Sweep = d.axes(n, "sweep") }

// axes reads a mapping of settings to lists of values.
func (d *decoder) axes(n *node, section string) (out []Axis) {
	if !d.isKind(n, section, nodeMapping, "write {partitions: [1k, 10k, 100k]}") {
		return nil
	}
	for _, f := range d.fields(n, section, nil) {
		path := join(section, f.key)
		s, ok := settingAt(f.key)
		if !ok {
			d.fault(f.at, path, "unknown setting", cureSetting(f.key))
			continue
		}
		if slices.ContainsFunc(out, func(a Axis) bool { return a.Path == s.path }) {
			d.fault(f.at, path, s.path+" is swept twice", "keep one axis")
			continue
		}
		axis := Axis{Path: s.path, at: f.at}
		for _, item := range d.list(f.val, path, "[1k, 10k]", maxAxis) {
			value, ok := d.settingValue(s, item)
			switch {
			case !ok:
			case slices.Contains(axis.Values, value):
				d.fault(item.at, path, value+" is listed twice", "keep one")
			case s.kind == kindText && !isSlug(value): // cells and files are named by it
				d.fault(item.at, path, fmt.Sprintf("%q cannot be swept", value), "write a variant, which has a name, for each value")
			default:
				axis.Values = append(axis.Values, value)
			}
		}
		if len(axis.Values) > 0 {
			out = append(out, axis)
		}
	}
	return out
}

func (d *decoder) variants(n *node) {
	for i, item := range d.list(n, "variants", "[{name: linger-5ms, set: {kraft.append.linger: 5ms}}]", maxVariants) {
		path := fmt.Sprintf("variants[%d]", i)
		if !d.isKind(item, path, nodeMapping, "write {name: …, set: {…}}") {
			continue
		}
		v := Variant{at: item.at}
		for _, f := range d.fields(item, path, []string{"name", "set", "only"}) {
			switch f.key {
			case "name":
				v.Name = d.variantName(f.val, join(path, "name"))
			case "set":
				v.set = d.assignments(f.val, join(path, "set"))
			case "only":
				v.Only = d.axes(f.val, join(path, "only"))
			}
		}
		for _, key := range []string{"name", "set"} {
			if item.lookup(key) == nil {
				d.fault(item.at, join(path, key), "missing", "write {name: linger-5ms, set: {kraft.append.linger: 5ms}}")
			}
		}
		if set := item.lookup("set"); set != nil && set.kind == nodeMapping && len(set.fields) == 0 {
			d.fault(set.at, join(path, "set"), "is empty", "set something, or take the variant out: the base is always measured")
		}
		if v.Name == "" {
			continue
		}
		if slices.ContainsFunc(d.spec.Variants, func(o Variant) bool { return o.Name == v.Name }) {
			d.fault(item.at, path, fmt.Sprintf("a second variant is named %q", v.Name), "give each a name of its own")
			continue
		}
		v.Set = plain(v.set)
		d.spec.Variants = append(d.spec.Variants, v)
	}
}

// variantName allows what may stand in a cell's name and so in a file name.
func (d *decoder) variantName(n *node, path string) string {
	text, ok := d.scalar(n, path)
	if !ok {
		return ""
	}
	switch {
	case !isSlug(text):
		d.fault(n.at, path, fmt.Sprintf("%q may not name a variant", text), "use up to 64 of a-z, 0-9, - and _, starting with a letter or digit")
		return ""
	case text == BaseVariant:
		d.fault(n.at, path, "base is the name of the cells without a variant", "choose another name")
		return ""
	}
	return text
}

func isSlug(s string) bool {
	if s == "" || len(s) > 64 || s[0] == '-' || s[0] == '_' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

func plain(set []assigned) []Assignment {
	var out []Assignment
	for _, a := range set {
		out = append(out, a.Assignment)
	}
	return out
}

func (d *decoder) workloads(n *node) {
	for i, item := range d.list(n, "workloads", "[{kind: controlled-shutdown}]", 50) {
		path := fmt.Sprintf("workloads[%d]", i)
		if !d.isKind(item, path, nodeMapping, "write {kind: controlled-shutdown}") {
			continue
		}
		names, _ := WorkloadKinds()
		kindNode := item.lookup("kind")
		if kindNode == nil {
			d.fault(item.at, path+".kind", "missing", "there are "+strings.Join(names, ", "))
			continue
		}
		text, ok := d.scalar(kindNode, path+".kind")
		if !ok {
			continue
		}
		k, ok := workloadKindOf(text)
		if !ok {
			d.fault(kindNode.at, path+".kind", fmt.Sprintf("unknown kind of workload %q", text), didYouMean(text, names))
			continue
		}
		w := Workload{Kind: k.name, at: item.at}
		d.workloadParams(item, path, "", k, &w.Params)
		d.spec.Workloads = append(d.spec.Workloads, w)
	}
}

func (d *decoder) workloadParams(n *node, path, prefix string, k workloadKind, w *workloads.Params) {
	known := []string{}
	if prefix == "" {
		known = append(known, "kind")
	}
	for _, p := range k.params {
		name, ok := strings.CutPrefix(p.path, prefix)
		if head, _, nested := strings.Cut(name, "."); ok && nested {
			name = head
		}
		if ok && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	for _, f := range d.fields(n, join(path, strings.TrimSuffix(prefix, ".")), known) {
		full := prefix + f.key
		if i := slices.IndexFunc(k.params, func(p param[workloads.Params]) bool { return p.path == full }); i >= 0 {
			text, ok := d.scalar(f.val, join(path, full))
			if !ok {
				continue
			}
			if err := k.params[i].set(w, text); err != nil {
				d.faultErr(f.val.at, join(path, full), err)
			}
			continue
		}
		if full != "kind" && d.isKind(f.val, join(path, full), nodeMapping, "write {rate: 200/s}") {
			d.workloadParams(f.val, path, full+".", k, w)
		}
	}
}

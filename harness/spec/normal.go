package spec

import (
	"fmt"
	"strings"

	"kbench/workloads"
)

// YAML writes the spec in its normalised form, defaults and all. Parsing it
// gives a spec with the same Hash.
func (s *Spec) YAML() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\n", quote(s.Name))
	fmt.Fprintf(&b, "targets: [%s]\n", strings.Join(s.TargetNames(), ", "))
	fmt.Fprintf(&b, "provider: %s\ntrials: %d\nrepeats: %d\nretries: %d\nseed: %d\n", s.Provider, s.Trials, s.Repeats, s.Retries, s.Seed)
	swept := make(map[string]bool)
	for _, a := range s.Sweep {
		swept[a.Path] = true
	}
	writeAttach(&b, s.Attach)
	b.WriteString("cluster:\n")
	for _, p := range settings {
		name, ok := strings.CutPrefix(p.path, "cluster.")
		// An ensemble contradicts the embedded store unless left out.
		single := p.path == "cluster.ensemble" && !s.written(p.path)
		if ok && !swept[p.path] && !single {
			fmt.Fprintf(&b, "  %s: %s\n", name, p.get(&s.Base))
		}
	}
	writeSet(&b, "set:", "  ", s.Set)
	writeAxes(&b, "sweep:", "  ", s.Sweep)
	b.WriteString("workloads:\n")
	for _, w := range s.Workloads {
		fmt.Fprintf(&b, "  - {kind: %s", w.Kind)
		k, _ := workloadKindOf(w.Kind)
		writeParams(&b, k, &w.Params)
		b.WriteString("}\n")
	}
	s.writeTimeline(&b)
	if len(s.Variants) > 0 {
		b.WriteString("variants:\n")
	}
	for _, v := range s.Variants {
		fmt.Fprintf(&b, "  - name: %s\n", quote(v.Name))
		writeSet(&b, "    set:", "      ", v.Set)
		writeAxes(&b, "    only:", "      ", v.Only)
	}
	if len(s.Thresholds) > 0 {
		b.WriteString("thresholds:\n")
	}
	for _, t := range s.Thresholds {
		fmt.Fprintf(&b, "  - %s\n", quote(t.Text))
	}
	return []byte(b.String())
}

// written reports whether the spec gave a base setting a value.
func (s *Spec) written(path string) bool {
	for _, a := range s.base {
		if a.Path == path {
			return true
		}
	}
	return false
}

func writeAxes(b *strings.Builder, head, indent string, axes []Axis) {
	if len(axes) == 0 {
		return
	}
	b.WriteString(head + "\n")
	for _, a := range axes {
		fmt.Fprintf(b, "%s%s: [%s]\n", indent, a.Path, strings.Join(a.Values, ", "))
	}
}

func writeSet(b *strings.Builder, head, indent string, set []Assignment) {
	if len(set) == 0 {
		return
	}
	b.WriteString(head + "\n")
	for _, a := range set {
		fmt.Fprintf(b, "%s%s: %s\n", indent, a.Path, scalarOf(a))
	}
}

// writeParams writes nested parameters in braces: probe: {rate: 200/s, …}.
func writeParams(b *strings.Builder, k workloadKind, w *workloads.Params) {
	group := ""
	for _, p := range k.params {
		// What a cell's cluster decides stays out, and what there is none of.
		if unset(p.field(w)) {
			continue
		}
		head, name, nested := strings.Cut(p.path, ".")
		if !nested {
			head, name = "", p.path
		}
		if head != group {
			if group != "" {
				b.WriteString("}")
			}
			if group = head; head != "" {
				b.WriteString(", " + head + ": {")
				fmt.Fprintf(b, "%s: %s", name, p.written(w))
				continue
			}
		}
		fmt.Fprintf(b, ", %s: %s", name, p.written(w))
	}
	if group != "" {
		b.WriteString("}")
	}
}

func unset(field any) bool {
	switch v := field.(type) {
	case *int:
		return *v == 0
	case *float64:
		return *v == 0
	case *string:
		return *v == ""
	}
	return false
}

// written is the parameter's value as YAML reads it.
func (p param[T]) written(c *T) string {
	if p.kind == kindText {
		return quote(p.get(c))
	}
	return p.get(c)
}

// scalarOf writes a value as YAML reads it.
func scalarOf(a Assignment) string {
	if s, _ := settingAt(a.Path); s.kind == kindText {
		return quote(a.Value)
	}
	return a.Value
}

// quote writes text as a YAML single-quoted scalar.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kbench/results"
)

// Difference is one thing beside what is compared in which two sides differ.
type Difference struct {
	Path string    `json:"path"`  // such as cluster.brokers, workloads.propagation.rate, environment.kernel
	Side [2]string `json:"sides"` // their names
	A    string    `json:"a"`
	B    string    `json:"b"`
	Why  string    `json:"why"` // why it is allowed: "variant" or "ignored"
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s vs %s (%s, %s)", d.Path, results.OneLine(d.A), results.OneLine(d.B), d.Side[0], d.Side[1])
}

// absent stands for a setting that one side does not have.
const absent = "absent"

// IncomparableError says in what the sides differ that should be equal.
type IncomparableError struct{ Differences []Difference }

// maxNamed bounds the differences that a message lists.
const maxNamed = 20

func (e *IncomparableError) Error() string {
	var b strings.Builder
	var paths []string
	for _, d := range e.Differences {
		if !slices.Contains(paths, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	b.WriteString("the sides differ in more than what is compared:\n")
	for i, d := range e.Differences {
		if i == maxNamed {
			fmt.Fprintf(&b, "  and %d more\n", len(e.Differences)-maxNamed)
			break
		}
		fmt.Fprintf(&b, "  %s\n", d)
	}
	fmt.Fprintf(&b, "measure them alike, or compare all the same with --ignore %s", strings.Join(paths, ","))
	return b.String()
}

// ignored reports whether the user told to ignore the path or one above it.
func ignored(paths []string, path string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
}

// conditions is everything beside the point of the sweep under which a cell
// was measured, by path.
type conditions struct {
	values   map[string]string
	declared []string // paths that the cell's variant sets
}

// conditionsOf flattens a cell and its run.
func conditionsOf(m *results.Manifest, c *results.Cell, s *specParts, axes []string) conditions {
	out := conditions{values: map[string]string{"provider": m.Provider, "store": c.Store}, declared: s.variants[c.Variant]}
	for path, v := range c.Config {
		if !slices.Contains(axes, path) {
			out.values[path] = v
		}
	}
	for path, v := range s.workloads {
		out.values[path] = v
	}
	for path, v := range environment(m.Environment) {
		out.values[path] = v
	}
	return out
}

// environment flattens every field by its JSON name, so that none is missed.
func environment(e results.Environment) map[string]string {
	var tree map[string]any
	b, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(b, &tree)
	}
	if err != nil {
		panic("compare: environment: " + err.Error())
	}
	out := make(map[string]string)
	flatten(out, "environment", tree)
	return out
}

func flatten(out map[string]string, path string, v any) {
	if tree, ok := v.(map[string]any); ok {
		for name, v := range tree {
			flatten(out, path+"."+name, v)
		}
		return
	}
	out[path] = fmt.Sprint(v)
}

// sameWords reports whether two lists hold the same, in whatever order.
func sameWords(a, b string) bool {
	words := func(s string) []string {
		w := strings.Fields(s)
		slices.Sort(w)
		return w
	}
	return slices.Equal(words(a), words(b))
}

// differences lists, by path, what differs between two cells. sameTarget says
// whether the metadata store has to be equal too.
func differences(a, b conditions, sameTarget bool, names [2]string, ignore []string) (allowed, refused []Difference) {
	paths := make([]string, 0, len(a.values))
	for path := range a.values {
		paths = append(paths, path)
	}
	for path := range b.values {
		if _, ok := a.values[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	lone := "" // a workload that one side lacks: its parameters go without saying
	for _, path := range paths {
		va, inA := a.values[path]
		vb, inB := b.values[path]
		if va == vb && inA == inB || path == "store" && !sameTarget || lone != "" && strings.HasPrefix(path, lone+".") {
			continue
		}
		if path == orderPath && !sameWords(va, vb) {
			continue // the workloads themselves differ, and are named
		}
		if inA != inB {
			lone = path
		}
		if !inA {
			va = absent
		}
		if !inB {
			vb = absent
		}
		d := Difference{Path: path, Side: names, A: va, B: vb}
		switch {
		case slices.Contains(a.declared, path) || slices.Contains(b.declared, path):
			d.Why = "variant"
		case ignored(ignore, path):
			d.Why = "ignored"
		default:
			refused = append(refused, d)
			continue
		}
		allowed = append(allowed, d)
	}
	return allowed, refused
}

// Package spec turns a strict YAML description of a benchmark into a frozen
// [Spec] and expands it into the cells that are run.
//
// It owns the language: keys, types, units, bounds, defaults, contradictions
// and their cures, `--set` overrides and the JSON Schema. It knows no cluster,
// no file but the one it is told to read, and no clock. All faults of a spec
// are reported together, each with its place, so that a file is mended in one
// go. A Spec is never changed after Parse returns it and may be read from any
// goroutine.
//
// The CLI parses, the harness expands and obeys:
//
//	s, err := spec.Load("nightly.yaml", spec.Override{Origin: "--trials", Path: "trials", Value: "5"})
//	if err != nil {
//		fmt.Fprintln(os.Stderr, err) // one line per fault
//		os.Exit(2)
//	}
//	for _, cell := range s.Cells() {
//		run(cell.Target, cell.Config, cell.Workloads)
//	}
//
// One table ([settings]) lists every scalar that decides a cluster. It serves
// the cluster section, `set`, variants, sweep axes, `--set`, the schema and
// the normalised form, so that a setting is added in one line.
package spec

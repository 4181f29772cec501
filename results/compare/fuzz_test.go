package compare

import "testing"

// FuzzReadSpec: a stored spec is foreign text.
func FuzzReadSpec(f *testing.F) {
	f.Add("name: 'x'\nworkloads:\n  - {kind: propagation, rate: 100/s, probe: {rate: 200/s}}\nvariants:\n  - name: 'v'\n    set:\n      a.b: 5ms\n")
	f.Add("workloads: [a, 1, null]\nvariants: {}")
	f.Add("a: &a [*a, *a]")
	f.Fuzz(func(t *testing.T, text string) {
		if s := readSpec(text); s.workloads == nil || s.variants == nil {
			t.Error("no parts")
		}
	})
}

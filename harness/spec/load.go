package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Override gives one key of a spec another value, as `--set path=value` does.
type Override struct {
	Origin string // how it was given, for messages: --partitions, --set
	Path   string // sweep.partitions, kraft.append.linger, workloads.propagation.rate
	Value  string // YAML, or words between commas
	List   bool   // Value is words between commas, as flags write lists
}

// Load reads the spec at path, or the built-in one of that name where no file
// has it, so also specs/NAME.yaml. The error is a [Faults] where the spec can be read but not used.
func Load(path string, overrides ...Override) (*Spec, error) {
	if b, ok := builtin(path); ok {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return Parse("built-in spec "+b.Name, []byte(b.YAML), overrides...)
		}
	}
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
		return nil, one("no such file", fmt.Sprintf("name a YAML file, or a built-in spec: %s", builtinNames()))
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

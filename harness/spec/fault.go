package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxShownFaults bounds what an error prints: past it only a count is useful.
const maxShownFaults = 50

// Place is where a value was written: a file position, or a flag (Line 0).
type Place struct {
	File string // as given by the caller, or the flag, such as "--partitions 0"
	Line int    // from 1; 0 where there is no line
	Col  int    // from 1, in characters; 0 where there is none
}

// String gives file:line:col without the parts that are not known.
func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}

// Fault is one thing wrong with a spec.
type Fault struct {
	At   Place
	Path string // dotted path of the value, empty for the file as a whole
	What string // what is wrong
	Cure string // how to mend it
}

// String is one line: place, path, what, cure.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.At.String())
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path)
		b.WriteString(": ")
	}
	b.WriteString(f.What)
	if f.Cure != "" {
		b.WriteString("; ")
		b.WriteString(f.Cure)
	}
	return strings.Map(oneLine, b.String())
}

// oneLine keeps a fault on one line and free of terminal control sequences,
// whatever the file holds.
func oneLine(r rune) rune {
	if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
		return ' '
	}
	return r
}

// Faults is everything wrong with a spec, in the order of the file.
type Faults []Fault

// Error prints one line per fault.
func (fs Faults) Error() string {
	lines := make([]string, 0, min(len(fs), maxShownFaults)+1)
	for _, f := range fs[:min(len(fs), maxShownFaults)] {
		lines = append(lines, f.String())
	}
	if n := len(fs) - maxShownFaults; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more faults", n))
	}
	return strings.Join(lines, "\n")
}

// sorted orders faults by place and drops doubles.
func (fs Faults) sorted() Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col))
	})
	seen := make(map[string]bool, len(fs))
	return slices.DeleteFunc(fs, func(f Fault) bool {
		line := f.String()
		double := seen[line]
		seen[line] = true
		return double
	})
}

package unplug

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kbench/internal/sim/plant"
	"kbench/internal/testtable"
)

// Plan is what can be taken out of the source, and what is claimed of it.
type Plan struct {
	Root  string // what paths of edits and codes are below
	Edits []plant.Edit
	// Codes are packages whose error codes can be off, as points "error NAME": the
	// check that gives one finds nothing wrong.
	Codes []string
	Cases []Case
}

// Case is what a row of a table claims: each of its tests misses a handler, and
// each handler is missed by a test.
type Case struct {
	Name string
	// Handlers are taken out one at a time. One is a list of points, separated by
	// semicolons, that are off at once: as a rule one point.
	Handlers []string
	Tests    []testtable.Test
}

// variable names the points that are off in a process.
const variable = "KBENCH_UNPLUGGED"

// switchboard is compiled into each package that is edited. Case does not count
// in points: the client library writes some names of requests otherwise.
const switchboard = `package %s

import (
	"os"
	"slices"
	"strings"
)

var unpluggedPoints = strings.FieldsFunc(os.Getenv(%q), func(r rune) bool { return r == ';' })

// unplugged reports whether a point is off in this process.
func unplugged(point string) bool {
	return slices.ContainsFunc(unpluggedPoints, func(p string) bool { return strings.EqualFold(p, point) })
}
`

// codeSwitch is compiled into the packages of Codes.
const codeSwitch = `package %s

import "kbench/kafka"

// coded gives a code, or none where it is off.
func coded(c kafka.ErrorCode) kafka.ErrorCode {
	if unplugged("error " + c.String()) {
		return kafka.None
	}
	return c
}
`

// sources gives the files below Root with the edits and the switchboards.
func (p Plan) sources() (map[string][]byte, error) {
	out, err := plant.Sources(p.Root, p.Edits)
	if err != nil {
		return nil, err
	}
	if err := p.code(out); err != nil {
		return nil, err
	}
	for _, name := range slices.Collect(maps.Keys(out)) {
		f, err := parser.ParseFile(token.NewFileSet(), name, out[name], 0)
		if err != nil {
			return nil, fmt.Errorf("an edit breaks %w", err)
		}
		dir := path.Dir(name)
		out[path.Join(dir, "unplugged.go")] = fmt.Appendf(nil, switchboard, f.Name.Name, variable)
		if slices.Contains(p.Codes, dir) {
			out[path.Join(dir, "unplugged_code.go")] = fmt.Appendf(nil, codeSwitch, f.Name.Name)
		}
	}
	return out, nil
}

// code lets each error code in the packages of Codes be off.
func (p Plan) code(out map[string][]byte) error {
	src, err := os.ReadFile(filepath.Join(p.Root, "kafka/errors.go"))
	if err != nil {
		return err
	}
	codes := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +ErrorCode = `).FindAllSubmatch(src, -1) {
		codes[string(m[1])] = string(m[1]) != "None"
	}
	constant := regexp.MustCompile(`\bkafka\.(\w+)`)
	for _, dir := range p.Codes {
		files, err := filepath.Glob(filepath.Join(p.Root, dir, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			name := path.Join(dir, filepath.Base(file))
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if out[name] == nil {
				if out[name], err = os.ReadFile(file); err != nil {
					return err
				}
			}
			out[name] = constant.ReplaceAllFunc(out[name], func(m []byte) []byte {
				if !codes[string(m[len("kafka."):])] {
					return m
				}
				return fmt.Appendf(nil, "coded(%s)", m)
			})
		}
	}
	return nil
}

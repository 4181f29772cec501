package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// file is one parsed Go file of the repository.
type file struct {
	pkg  string // directory below the module's root, slashes
	name string // path below the root
	test bool
	fset *token.FileSet
	ast  *ast.File
}

// fault is a broken rule at a place.
type fault string

func (f file) at(n ast.Node, format string, a ...any) fault {
	return fault(fmt.Sprintf("%s:%d: %s", f.name, f.fset.Position(n.Pos()).Line, fmt.Sprintf(format, a...)))
}

// judge gives every fault of the files, in their order.
func judge(files []file) []fault {
	var faults []fault
	docs, packages := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if top, _, _ := strings.Cut(f.pkg, "/"); !slices.Contains(layout, top) {
			faults = append(faults, f.at(f.ast, "package in %q: the top level holds %s", f.pkg, strings.Join(layout, " ")))
		}
		for _, s := range f.ast.Imports {
			p, _ := strconv.Unquote(s.Path.Value)
			for _, text := range judgeImport(f.pkg, p) {
				faults = append(faults, f.at(s, "%s", text))
			}
		}
		if f.test {
			continue
		}
		if isPure(f.pkg) {
			faults = append(faults, judgePurity(f)...)
		}
		packages[f.pkg] = true
		if path.Base(f.name) == "doc.go" && f.ast.Doc != nil {
			docs[f.pkg] = true
		}
	}
	for _, p := range sorted(packages) {
		if !docs[p] {
			faults = append(faults, fault(fmt.Sprintf("%s/doc.go: missing, or without a comment before its package clause: say what the package owns, must not know, who calls it, on which goroutine, with one example", p)))
		}
	}
	return faults
}

func sorted(set map[string]bool) []string {
	var out []string
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func parse(t *testing.T, name, src string) file {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file{pkg: path.Dir(name), name: name, test: strings.HasSuffix(name, "_test.go"), fset: fset, ast: f}
}

// root finds the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// load parses every Go file below dir; hidden directories, testdata and what
// the build leaves are no source.
func load(t *testing.T, dir string) []file {
	t.Helper()
	var files []file
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			base := d.Name()
			if rel != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules") || rel == "bin" || rel == "dist" || rel == "kbench-results" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		files = append(files, parse(t, rel, string(src)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRepository judges the repository.
func TestRepository(t *testing.T) {
	files := load(t, root(t))
	if len(files) < 100 {
		t.Fatalf("only %d Go files found: the test looks at the wrong place", len(files))
	}
	for _, f := range judge(files) {
		t.Error(f)
	}
}

// TestTopLevel allows nothing at the top of the repository but its layout, and
// what .gitignore names.
func TestTopLevel(t *testing.T) {
	dir := root(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	ignore, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".git" || slices.Contains(layout, e.Name()) || ignored(string(ignore), e.Name()) {
			continue
		}
		t.Errorf("%s: the top level holds %s; put it into one of these", e.Name(), strings.Join(layout, " "))
	}
}

func ignored(gitignore, name string) bool {
	for line := range strings.Lines(gitignore) {
		pattern := strings.Trim(strings.TrimSpace(line), "/")
		if ok, err := path.Match(pattern, name); err == nil && ok && pattern != "" {
			return true
		}
	}
	return false
}

// TestRulesBite plants one fault for each rule and requires that it is found,
// and that its lawful neighbour is not.
func TestRulesBite(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"broker/a.go", `import "kbench/harness"`, "the measured does not know the measurer"},
		{"kraftcontroller/metalog/a.go", `import "kbench/results/stats"`, "the measured does not know the measurer"},
		{"zkcontroller/a.go", `import "kbench/workloads"`, "the measured does not know the measurer"},
		{"zkcontroller/zk/a_test.go", `import "kbench/harness/spec"`, "the measured does not know the measurer"},
		{"zkcontroller/a.go", `import "kbench/kraftcontroller/metalog"`, "the two controllers do not know each other"},
		{"kraftcontroller/a.go", `import "kbench/zkcontroller/zk"`, "the two controllers do not know each other"},
		{"broker/a.go", `import "kbench/kraftcontroller"`, "a broker knows only the leaves"},
		{"broker/a.go", `import "kbench/kraftcontroller/machine"`, "a broker knows only the leaves"},
		{"broker/replica/a.go", `import "kbench/zkcontroller"`, "a broker knows only the leaves"},
		{"broker/a.go", `import "kbench/kraftcontroller/raft"`, ""},
		{"broker/a.go", `import "kbench/kraftcontroller/raftclient"`, ""},
		{"broker/a.go", `import "kbench/zkcontroller/zk"`, ""},
		{"kraftcontroller/a.go", `import "kbench/internal/checker"`, "who judges it"},
		{"results/a.go", `import "kbench/kafka"`, "results imports nothing of kbench"},
		{"results/a.go", `import "kbench/results/stats"`, ""},
		{"kafka/wire/a.go", `import "kbench/broker"`, "the vocabulary knows nobody"},
		{"kafka/wire/a.go", `import "kbench/kafka"`, ""},
		{"harness/a.go", `import "kbench/cmd/kbench/node"`, "nobody knows cmd"},
		{"cmd/kbench/a.go", `import "kbench/harness"`, ""},
		{"harness/process/a.go", `import "github.com/testcontainers/testcontainers-go"`, "only harness/docker"},
		{"harness/docker/a.go", `import "github.com/testcontainers/testcontainers-go"`, ""},
		{"kafka/a.go", `import "os"`, "is pure and imports os"},
		{"kafka/metadata/a.go", `import "sync/atomic"`, "is pure and imports sync/atomic"},
		{"zkcontroller/machine/a.go", `import "log/slog"`, "is pure and imports log/slog"},
		{"kraftcontroller/machine/a.go", `import "math/rand"`, "is pure and imports math/rand"},
		{"kraftcontroller/raft/a.go", `import "context"`, "is pure and imports context"},
		{"kraftcontroller/raft/a.go", `import . "time"`, "by a dot"},
		{"kraftcontroller/raft/a.go", `import "time"; var _ = time.Now()`, "calls time.Now"},
		{"kraftcontroller/raft/a.go", `import clock "time"; var _ = clock.After`, "calls clock.After"},
		{"kraftcontroller/raft/a.go", `import "time"; var _ = time.Second`, ""},
		{"kafka/access/a.go", `import "net/netip"; var _ netip.Addr`, ""},
		{"kraftcontroller/raft/a.go", `import "math/rand/v2"; var _ = rand.IntN(3)`, "global generator"},
		{"kraftcontroller/raft/a.go", `import "math/rand/v2"; var _ = rand.New(rand.NewPCG(1, 2))`, ""},
		{"kraftcontroller/raft/a.go", `func f() { go f() }`, "starts a goroutine"},
		{"kraftcontroller/raft/a_test.go", `import "os"`, ""},
		{"kraftcontroller/raftclient/a.go", `import "os"`, ""},
		{"util/a.go", ``, "the top level holds"},
	} {
		f := parse(t, c.name, "package p\n"+c.src)
		doc := parse(t, path.Dir(c.name)+"/doc.go", "// Package p is documented.\npackage p")
		got := judge([]file{doc, f})
		found := slices.ContainsFunc(got, func(f fault) bool { return strings.Contains(string(f), c.want) })
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s with %s: lawful, but: %v", c.name, c.src, got)
		case c.want != "" && !found:
			t.Errorf("%s with %s: %q not found in %v", c.name, c.src, c.want, got)
		}
	}
	bare := judge([]file{parse(t, "kafka/a.go", "package kafka"), parse(t, "kafka/doc.go", "package kafka")})
	if len(bare) != 1 || !strings.Contains(string(bare[0]), "kafka/doc.go: missing") {
		t.Errorf("a package without a comment: %v", bare)
	}
}

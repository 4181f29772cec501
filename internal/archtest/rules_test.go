package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "kbench"

// under reports whether package pkg is dir or below it.
func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

func underAny(pkg string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return under(pkg, d) })
}

// ban forbids the packages of from, save spared, to import those of to, save
// except. Paths are below the module; a path with a dot in its first element is
// another module's.
type ban struct {
	from, spared []string
	to, except   []string
	why          string
}

var measured = []string{"zkcontroller", "kraftcontroller", "broker"}

// bans is the import table. It holds for tests too: a test that needs both
// sides belongs to the side that may know both.
var bans = []ban{
	{
		from: measured, to: []string{"harness", "workloads", "results"},
		why: "the measured does not know the measurer",
	},
	{
		from: []string{"zkcontroller"}, to: []string{"kraftcontroller"},
		why: "the two controllers do not know each other; what they share belongs to kafka/metadata",
	},
	{
		from: []string{"kraftcontroller"}, to: []string{"zkcontroller"},
		why: "the two controllers do not know each other; what they share belongs to kafka/metadata",
	},
	{
		from: []string{"broker"}, to: []string{"zkcontroller", "kraftcontroller"},
		except: []string{"kraftcontroller/raft", "kraftcontroller/raftclient", "kraftcontroller/metalog", "kraftcontroller/snapshots", "zkcontroller/zk"},
		why:    "a broker knows only the leaves raft, raftclient, metalog, snapshots and zk, no controller",
	},
	{
		from: measured, to: []string{"cmd", "internal/sim", "internal/checker"},
		why: "the measured does not know who judges it",
	},
	{
		from: []string{"results"}, to: []string{""}, except: []string{"results"},
		why: "results imports nothing of kbench, so that an old run stays readable",
	},
	{
		from: []string{"kafka"}, to: []string{""}, except: []string{"kafka"},
		why: "the vocabulary knows nobody who speaks it",
	},
	{
		from: []string{"harness", "workloads", "results", "internal", "kafka", "zkcontroller", "kraftcontroller", "broker"}, to: []string{"cmd"},
		why: "cmd knows everybody and nobody knows cmd",
	},
	{
		from:   []string{"cmd", "broker", "workloads", "results", "internal", "kafka", "zkcontroller", "kraftcontroller", "harness"},
		spared: []string{"harness/docker"},
		to:     []string{"github.com/testcontainers", "github.com/moby/moby/client"},
		why:    "only harness/docker talks to Docker",
	},
}

// layout lists what may stand at the top of the repository. Go packages live
// below the directories only.
var layout = []string{
	".ci", ".gitignore", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum",
	"broker", "cmd", "docker", "docs", "harness", "internal", "kafka", "kraftcontroller", "results", "workloads", "zkcontroller",
}

// pure lists the packages that are functions of their inputs.
func isPure(pkg string) bool {
	return pkg == "broker/loader" || pkg == "kafka" || pkg == "kafka/access" || pkg == "kafka/admin" || pkg == "kafka/ask" || pkg == "kafka/metadata" || pkg == "kafka/refusal" || pkg == "kraftcontroller/raft" || path.Base(pkg) == "machine" && underAny(pkg, measured)
}

// impure are the packages that a pure one must not import: what does I/O, waits,
// locks, logs, or is random in secret.
var impure = []string{
	"net", "os", "sync", "log", "context", "io/fs", "io/ioutil", "syscall", "unsafe", "runtime",
	"math/rand", "crypto/rand", "testing", "golang.org/x/sys", "golang.org/x/sync", "golang.org/x/term",
}

// pureBelow are packages below those of impure that a pure one may import: net/netip
// reads and compares addresses, and opens nothing.
var pureBelow = []string{"math/rand/v2", "net/netip"}

// impureNames are what a pure package must not use of packages that it may
// import.
var impureNames = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
}

// randNames are what a pure package may use of math/rand/v2: the rest draws from
// the global generator.
var randNames = []string{"Rand", "New", "NewPCG", "PCG", "NewChaCha8", "ChaCha8", "Source", "NewZipf", "Zipf"}

// judgeImport gives the faults of one import, without a position.
func judgeImport(pkg, imported string) []string {
	var faults []string
	rel, own := strings.CutPrefix(imported, module+"/")
	if imported == module {
		rel, own = "", true
	}
	for _, b := range bans {
		if !underAny(pkg, b.from) || underAny(pkg, b.spared) {
			continue
		}
		for _, to := range b.to {
			foreign := strings.Contains(strings.SplitN(to, "/", 2)[0], ".")
			hit := own && !foreign && (to == "" || under(rel, to)) || foreign && under(imported, to)
			if hit && !underAny(rel, b.except) {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", pkg, imported, b.why))
			}
		}
	}
	return faults
}

// judgePurity gives the faults of a file of a pure package.
func judgePurity(f file) []fault {
	var faults []fault
	names := map[string]string{} // local name of an import to its path
	for _, s := range f.ast.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		name := path.Base(p)
		if p == "math/rand/v2" {
			name = "rand"
		}
		if s.Name != nil {
			name = s.Name.Name
		}
		names[name] = p
		if name == "." {
			faults = append(faults, f.at(s, "%s is pure and imports %s by a dot: name it", f.pkg, p))
		}
		if underAny(p, impure) && !slices.Contains(pureBelow, p) {
			faults = append(faults, f.at(s, "%s is pure and imports %s: let its caller do that and hand the result in", f.pkg, p))
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			faults = append(faults, f.at(n, "%s is pure and starts a goroutine: its caller owns them", f.pkg))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok || x.Obj != nil {
				return true
			}
			switch p := names[x.Name]; {
			case slices.Contains(impureNames[p], n.Sel.Name):
				faults = append(faults, f.at(n, "%s is pure and calls %s.%s: time comes in as an argument", f.pkg, x.Name, n.Sel.Name))
			case p == "math/rand/v2" && !slices.Contains(randNames, n.Sel.Name):
				faults = append(faults, f.at(n, "%s is pure and draws from the global generator by rand.%s: use a seeded *rand.Rand", f.pkg, n.Sel.Name))
			}
		}
		return true
	})
	return faults
}

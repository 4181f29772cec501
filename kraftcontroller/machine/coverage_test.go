package machine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// coverage is a row of the table in the package documentation.
type coverage struct{ kind, subject, test string }

func readCoverage(t *testing.T) []coverage {
	t.Helper()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^//\t(request|record|state|error) +(.*?) {2,}(\S+)$`)
	var rows []coverage
	for _, m := range row.FindAllStringSubmatch(string(source), -1) {
		rows = append(rows, coverage{m[1], m[2], m[3]})
	}
	if len(rows) < 90 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	return rows
}

// testNames lists the test functions of the package.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

// TestCoverage holds the table of the package documentation to what there is:
// each test exists, each story shows its subject, and no request, record or
// error code of a story is missing.
func TestCoverage(t *testing.T) {
	rows := readCoverage(t)
	tests := testNames(t)
	listed := map[string]bool{}
	for _, r := range rows {
		listed[r.kind+" "+r.subject] = true
		story, ok := strings.CutPrefix(r.test, "stories/")
		if !ok {
			if !tests[r.test] {
				t.Errorf("%s %s: there is no %s", r.kind, r.subject, r.test)
			}
			continue
		}
		golden, err := os.ReadFile(filepath.Join("testdata/stories", story))
		if err != nil {
			t.Errorf("%s %s: %v", r.kind, r.subject, err)
			continue
		}
		shows := map[string]string{"record": `(?m)^(append |       )\d+: ` + r.subject + ` `, "error": `\b` + r.subject + `\b`}[r.kind]
		if !regexp.MustCompile(shows).Match(golden) {
			t.Errorf("the story %s does not show the %s %s", story, r.kind, r.subject)
		}
	}
	for key := range deciders {
		if !anyKey(rows, key) {
			t.Errorf("the request of key %d is not in the table", key)
		}
	}
	stories, err := filepath.Glob("testdata/stories/*")
	if err != nil {
		t.Fatal(err)
	}
	record := regexp.MustCompile(`(?m)^(?:append |       )\d+: (\w+) `)
	code := regexp.MustCompile(`\b([A-Z]+_[A-Z_]+)\b`)
	for _, path := range stories {
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range record.FindAllStringSubmatch(string(golden), -1) {
			if !listed["record "+m[1]] {
				t.Errorf("%s: the record %s is not in the table", path, m[1])
			}
		}
		for line := range strings.Lines(string(golden)) {
			if !strings.HasPrefix(line, "answer") && !strings.HasPrefix(line, "  ") {
				continue
			}
			for _, m := range code.FindAllStringSubmatch(line, -1) {
				if !listed["error "+m[1]] && m[1] != "UNSAFE_DOWNGRADE" {
					t.Errorf("%s: the error %s is not in the table", path, m[1])
				}
			}
		}
	}
}

func anyKey(rows []coverage, key int16) bool {
	for _, r := range rows {
		if r.kind == "request" && strings.HasSuffix(r.subject, "("+strconv.Itoa(int(key))+")") {
			return true
		}
	}
	return false
}

// TestCoverageBites runs the story of each request with its decider taken out:
// the story must come out otherwise.
func TestCoverageBites(t *testing.T) {
	for _, r := range readCoverage(t) {
		if r.kind != "request" {
			continue
		}
		_, number, _ := strings.Cut(strings.TrimSuffix(r.subject, ")"), "(")
		key, err := strconv.ParseInt(number, 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", r.test)
		if !sameStory(t, path) {
			t.Fatalf("the story %s does not come out as it stands", path)
		}
		decide := deciders[int16(key)]
		delete(deciders, int16(key))
		same := sameStory(t, path)
		deciders[int16(key)] = decide
		if same {
			t.Errorf("%s comes out the same without a decider of %s", path, r.subject)
		}
	}
}

// sameStory tells a story and reports whether it comes out as its file says; it
// ends at the first directive that does not.
func sameStory(t *testing.T, path string) bool {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var w *world
	same := true
	for block := range strings.SplitSeq(string(source), "\n\n") {
		head, expected, ok := strings.Cut(block, "\n----\n")
		for strings.HasPrefix(head, "#") {
			_, head, _ = strings.Cut(head, "\n")
		}
		if !ok || head == "" || !same {
			continue
		}
		line, input, _ := strings.Cut(head, "\n")
		cmd, args, err := datadriven.ParseLine(line)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		d := &datadriven.TestData{Pos: path, Cmd: cmd, CmdArgs: args, Input: input}
		if cmd == "new" {
			w = newWorld(storyConfig(d))
			continue
		}
		// A helper that needs an answer which does not come fails its test; here
		// that is an answer too.
		if cmd == "up" && (deciders[62] == nil || deciders[63] == nil) {
			return false
		}
		same = strings.TrimRight(tell(t, w, d), "\n") == strings.TrimRight(expected, "\n")
	}
	return same
}

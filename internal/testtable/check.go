package testtable

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Table is what a README may name, and how.
type Table struct {
	Dir      string             // of the README, to which the directories below are relative
	Packages map[string]string  // what stands before a test's name, and the directory of its package
	Stories  map[string]Stories // what stands before a story's name
	Names    string             // regular expression of a name in a row
	Rows     int                // the fewest rows of tests that are to be found
}

// Stories are files that one test runs, each as a subtest of its name.
type Stories struct {
	Package string
	Files   string // their directory below that of the package
	Test    string
}

// Row is one row of a table with a column of tests.
type Row struct {
	Heading string   // of the section
	Cells   []string // without that of the tests
	Tests   []string // as they are named
}

// Test is how a named test is run.
type Test struct {
	Package string // its directory
	Run     string // its name as the testing package prints it
}

var declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// Check holds the README to the tests that there are.
func Check(t *testing.T, table Table) {
	t.Helper()
	there := table.Tests(t)
	rows := table.Read(t)
	for _, row := range rows {
		if len(row.Tests) == 0 {
			t.Errorf("no test is named in %q", row.Cells)
		}
		for _, n := range row.Tests {
			if _, ok := there[n]; !ok {
				t.Errorf("%q does not exist; it is named in %q", n, row.Cells)
			}
		}
	}
	if len(rows) < table.Rows {
		t.Errorf("only %d rows are read", len(rows))
	}
}

// Read gives the rows of the README's tables that have a column of tests.
func (table Table) Read(t *testing.T) []Row {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(table.Dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(table.Names)
	var rows []Row
	heading, inside := "", false // inside: of a table with a column of tests
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			heading = line[3:]
		case !strings.HasPrefix(line, "|"):
			inside = false
		case strings.HasSuffix(line, "| tests |"):
			inside = true
		case inside && !strings.HasPrefix(line, "|---"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			last := len(cells) - 1
			rows = append(rows, Row{heading, cells[:last], named.FindAllString(cells[last], -1)})
		}
	}
	return rows
}

// Tests is every test and story that a row may name.
func (table Table) Tests(t *testing.T) map[string]Test {
	t.Helper()
	there := map[string]Test{}
	for prefix, dir := range table.Packages {
		for _, file := range glob(t, filepath.Join(table.Dir, dir, "*_test.go")) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllSubmatch(src, -1) {
				there[prefix+string(m[1])] = Test{filepath.Join(table.Dir, dir), string(m[1])}
			}
		}
	}
	for prefix, s := range table.Stories {
		dir := filepath.Join(table.Dir, s.Package)
		for _, file := range glob(t, filepath.Join(dir, s.Files, "*")) {
			name := filepath.Base(file)
			there[prefix+name] = Test{dir, s.Test + "/" + name}
		}
	}
	return there
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(found), err)
	}
	return found
}

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
	Packages map[string]string // what stands before a test's name, and the directory of its package
	Stories  map[string]string // what stands before a story's name, and the directory of the stories
	Names    string            // regular expression of a name in a row
	Rows     int               // the fewest rows of tests that are to be found
}

var declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// Check reads the README in the working directory.
func Check(t *testing.T, table Table) {
	t.Helper()
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	there, named := table.there(t), regexp.MustCompile(table.Names)
	rows, inside := 0, false // inside: of a table with a column of tests
	for line := range strings.Lines(string(data)) {
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
			continue
		case strings.HasSuffix(line, "| tests |\n"):
			inside = true
			continue
		case !inside || strings.HasPrefix(line, "|---"):
			continue
		}
		rows++
		names := named.FindAllString(line, -1)
		if len(names) == 0 {
			t.Errorf("no test is named in %s", line)
		}
		for _, n := range names {
			if !there[n] {
				t.Errorf("%q does not exist; it is named in %s", n, line)
			}
		}
	}
	if rows < table.Rows {
		t.Errorf("only %d rows are read", rows)
	}
}

// there is every name that a row may hold.
func (table Table) there(t *testing.T) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	for prefix, dir := range table.Packages {
		for _, file := range glob(t, filepath.Join(dir, "*_test.go")) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllSubmatch(src, -1) {
				there[prefix+string(m[1])] = true
			}
		}
	}
	for prefix, dir := range table.Stories {
		for _, story := range glob(t, filepath.Join(dir, "*")) {
			there[prefix+filepath.Base(story)] = true
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

package zkcontroller

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that the README's tables name exists.
func TestReadmeNamesTests(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for prefix, dir := range map[string]string{"": ".", "zk.": "zk", "broker.": "../broker", "outage.": "../internal/outage"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d test files, %v", dir, len(files), err)
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllSubmatch(src, -1) {
				there[prefix+string(m[1])] = true
			}
		}
	}
	stories, err := filepath.Glob("machine/testdata/stories/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stories {
		there["story "+filepath.Base(s)] = true
	}
	named := regexp.MustCompile(`story \w+|(?:zk\.|broker\.|outage\.)?\bTest\w+`)
	rows, table := 0, false // table: one with a column of tests
	for line := range strings.Lines(string(data)) {
		switch {
		case !strings.HasPrefix(line, "|"):
			table = false
			continue
		case strings.HasSuffix(line, "| tests |\n"):
			table = true
			continue
		case !table || strings.HasPrefix(line, "|---"):
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
	if rows < 45 {
		t.Errorf("only %d rows are read", rows)
	}
}

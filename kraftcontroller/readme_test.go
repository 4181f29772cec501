package kraftcontroller

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeNamesTests: every test and story that the README's tables name
// exists.
func TestReadmeNamesTests(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for prefix, dir := range map[string]string{
		"": ".", "raft.": "raft", "raftclient.": "raftclient", "metalog.": "metalog", "machine.": "machine",
		"sim.": "../internal/sim", "metadata.": "../kafka/metadata", "broker.": "../broker",
	} {
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
	for prefix, dir := range map[string]string{"story ": "machine/testdata/stories", "raft story machine/": "raft/testdata/machine", "raft story quorum/": "raft/testdata/quorum"} {
		stories, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(stories) == 0 {
			t.Fatalf("%s: %d stories, %v", dir, len(stories), err)
		}
		for _, s := range stories {
			there[prefix+filepath.Base(s)] = true
		}
	}
	named := regexp.MustCompile(`raft story \w+/\w+|story \w+|(?:\w+\.)?\bTest\w+`)
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
	if rows < 38 {
		t.Errorf("only %d rows are read", rows)
	}
}

package raft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable holds the table of the package documentation to the stories: each
// story that it names exists, is run, and shows what the table says; and no
// story is left out of it.
func TestTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(doc), "# What is tested where")
	if !ok {
		t.Fatal("doc.go has no table")
	}
	named := map[string]bool{}
	rows := 0
	for line := range strings.Lines(table) {
		row, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		if !ok {
			continue
		}
		what, stories, ok := strings.Cut(row, "  ")
		if !ok {
			t.Errorf("row %q names no story", row)
		}
		rows++
		for _, story := range strings.Fields(stories) {
			named[story] = true
			text, err := os.ReadFile(filepath.Join("testdata", story))
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if !shows(string(text), what) {
				t.Errorf("story %s does not show %q", story, what)
			}
		}
	}
	if rows < 30 {
		t.Errorf("the table has %d rows", rows)
	}
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimPrefix(filepath.ToSlash(f), "testdata/"); !named[name] {
			t.Errorf("the table names no story %s", name)
		}
	}
}

// shows reports whether a machine says what in the trace of a story: its
// comments and commands do not count.
func shows(story, what string) bool {
	output := false
	for line := range strings.Lines(story) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "----":
			output = true
		case line == "":
			output = false
		case output && strings.Contains(line, what):
			return true
		}
	}
	return false
}

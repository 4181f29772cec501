package raft

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
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
	if rows < 55 {
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
		story, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, passed := range regexp.MustCompile(`(?m)^  (transition .*)$`).FindAllStringSubmatch(string(story), -1) {
			if !regexp.MustCompile(`(?m)^//\t` + passed[1] + ` {2,}`).MatchString(table) {
				t.Errorf("%s: the %s is not in the table", f, passed[1])
			}
		}
	}
}

// TestTableBites takes the handler of each request away: a story comes out
// otherwise.
func TestTableBites(t *testing.T) {
	stories, err := filepath.Glob("testdata/machine/*")
	if err != nil || len(stories) < 15 {
		t.Fatalf("%d stories, %v", len(stories), err)
	}
	for name, is := range map[string]func(Message) bool{
		"Vote":             func(m Message) bool { r, ok := m.(VoteRequest); return ok && !r.PreVote },
		"PreVote":          func(m Message) bool { r, ok := m.(VoteRequest); return ok && r.PreVote },
		"BeginQuorumEpoch": func(m Message) bool { _, ok := m.(BeginQuorumEpochRequest); return ok },
		"EndQuorumEpoch":   func(m Message) bool { _, ok := m.(EndQuorumEpochRequest); return ok },
		"Fetch":            func(m Message) bool { _, ok := m.(FetchRequest); return ok },
		"FetchSnapshot":    func(m Message) bool { _, ok := m.(FetchSnapshotRequest); return ok },
		"DescribeQuorum":   func(m Message) bool { _, ok := m.(DescribeQuorumRequest); return ok },
		"AddRaftVoter":     func(m Message) bool { _, ok := m.(AddVoterRequest); return ok },
		"RemoveRaftVoter":  func(m Message) bool { _, ok := m.(RemoveVoterRequest); return ok },
		"UpdateRaftVoter":  func(m Message) bool { _, ok := m.(UpdateVoterRequest); return ok },
		"upgrade":          func(m Message) bool { _, ok := m.(UpgradeRequest); return ok },
	} {
		bites := 0
		for _, path := range stories {
			if !comesOut(t, path, nil) {
				t.Fatalf("%s does not come out as it stands", path)
			}
			if !comesOut(t, path, is) {
				bites++
			}
		}
		if bites == 0 {
			t.Errorf("every story comes out the same without %s", name)
		}
	}
}

// comesOut tells a story without the requests that dropped names and reports
// whether it comes out as its file says.
func comesOut(t *testing.T, path string, dropped func(Message) bool) bool {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, dropped: dropped}
	for block := range strings.SplitSeq(string(source), "\n\n") {
		head, expected, ok := strings.Cut(block, "\n----\n")
		for strings.HasPrefix(head, "#") {
			_, head, _ = strings.Cut(head, "\n")
		}
		if !ok || head == "" {
			continue
		}
		line, input, _ := strings.Cut(head, "\n")
		cmd, args, err := datadriven.ParseLine(line)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		s.d = &datadriven.TestData{Pos: path, Cmd: cmd, CmdArgs: args, Input: input}
		if strings.TrimRight(s.command(), "\n") != strings.TrimRight(expected, "\n") {
			return false
		}
	}
	return true
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

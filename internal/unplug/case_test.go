package unplug

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"kbench/internal/testtable"
)

// TestHandlersApply keeps the edits and cases up with the source and the tables.
// That the tests bite is what TestHandlersBite shows, which runs them (tag
// handlers).
func TestHandlersApply(t *testing.T) {
	p := plan(t)
	edited, err := p.sources()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, src := range edited {
		text.Write(src)
	}
	for _, c := range p.Cases {
		for _, handler := range c.Handlers {
			for point := range strings.SplitSeq(handler, ";") {
				kind, _, _ := strings.Cut(point, " ")
				if !strings.Contains(text.String(), "\""+kind+" ") {
					t.Errorf("%s: no edit asks for %q", c.Name, point)
				}
			}
		}
	}
}

// plan is that of both controllers.
func plan(t *testing.T) Plan {
	return Plan{
		Root:  "../..",
		Edits: slices.Concat(zkEdits, kraftEdits),
		Codes: []string{"zkcontroller/machine", "kraftcontroller/machine", "kraftcontroller/raft", "kraftcontroller", "kafka/admin", "kafka/guard", "kafka/wire"},
		Cases: slices.Concat(zkCases(t), kraftCases(t)),
	}
}

// bare are the sections whose rows have no handler to be taken out.
var bare = map[string]string{
	"Situations":     "a row is a course of many events; bugs that lead to a wrong one are planted (make teeth)",
	"Files":          "the tests break files themselves",
	"What must hold": "what breaks an invariant is planted (make teeth)",
}

func requireBare(t *testing.T, section string) {
	t.Helper()
	if bare[section] == "" {
		t.Errorf("nothing is taken out for the rows of %q: name their handlers, or why they have none", section)
	}
}

func caseOf(t *testing.T, row testtable.Row, handlers []string, there map[string]testtable.Test) Case {
	t.Helper()
	if len(handlers) == 0 {
		t.Errorf("nothing is taken out for %q: name its handler, or why it has none", row.Cells)
	}
	c := Case{Name: row.Heading + ": " + row.Cells[0], Handlers: handlers}
	for _, name := range row.Tests {
		if !slow[name] {
			c.Tests = append(c.Tests, there[name])
		}
	}
	if len(c.Tests) == 0 {
		t.Errorf("%s names no test that is not slow", c.Name)
	}
	return c
}

// slow are tests that take too long to be tried; their rows have others.
var slow = map[string]bool{"TestEveryProtocolWithRealBrokers": true}

// named is a request with its versions, which some leave out.
var named = regexp.MustCompile(`([A-Z][A-Za-z]+)(?: \([\d-]+\))?`)

// franz are names of requests for which the client library has another.
var franz = map[string]string{"AlterPartitionReassignments": "AlterPartitionAssignments"}

// requestHandlers gives those of a cell that lists requests.
func requestHandlers(cell string) (handlers []string) {
	for _, m := range named.FindAllStringSubmatch(cell, -1) {
		point := "request " + m[1]
		if other := franz[m[1]]; other != "" {
			point += ";request " + other
		}
		handlers = append(handlers, point)
	}
	return handlers
}

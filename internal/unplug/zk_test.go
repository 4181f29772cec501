package unplug

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"kbench/internal/testtable"
)

// zkTable is what the README of ZooKeeper mode may name.
var zkTable = testtable.Table{
	Dir:      "../../zkcontroller",
	Packages: map[string]string{"": ".", "zk.": "zk", "broker.": "../broker", "outage.": "../internal/outage"},
	Stories:  map[string]testtable.Stories{"story ": {Package: "machine", Files: "testdata/stories", Test: "TestStories"}},
	Names:    `story \w+|(?:zk\.|broker\.|outage\.)?\bTest\w+`,
	Rows:     95,
}

// TestZKReadmeNamesTests: every test that the README of ZooKeeper mode names
// exists.
func TestZKReadmeNamesTests(t *testing.T) { testtable.Check(t, zkTable) }

// TestZKReadmeListsCodes: every error code that the event thread gives has a row.
func TestZKReadmeListsCodes(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range zkTable.Read(t) {
		if row.Heading == "Error codes" {
			listed[row.Cells[0]] = true
		}
	}
	names, err := os.ReadFile("../../kafka/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+): +"([A-Z_]+)",$`).FindAllStringSubmatch(string(names), -1) {
		text[m[1]] = m[2]
	}
	files, err := filepath.Glob("../../zkcontroller/machine/*.go")
	if err != nil || len(files) == 0 || len(text) == 0 {
		t.Fatalf("%d files, %d codes: %v", len(files), len(text), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bkafka\.(\w+)`).FindAllStringSubmatch(string(src), -1) {
			if code := text[m[1]]; code != "" && code != "NONE" && !listed[code] {
				t.Errorf("%s: %s has no row", file, code)
			}
		}
	}
}

// zkEvents are the events of rows that do not name them as the machine does.
var zkEvents = map[string][]string{
	"Startup, ControllerChange, Reelect": {"event machine.Elected", "event elect"},
	"RegisterBrokerAndReelect, Expire":   {"event expire"},
}

// zkBare are the rows, by their first cell, that have no handler to be taken out.
var zkBare = map[string]string{
	"ShutdownEventThread": "what ends Run ends the test, with or without the controller's own part in it",
}

// zkCases gives what each row of a handler claims.
func zkCases(t *testing.T) []Case {
	there, bare := zkTable.Tests(t), map[string]bool{}
	var cases []Case
	for _, row := range zkTable.Read(t) {
		if zkBare[row.Cells[0]] != "" {
			bare[row.Cells[0]] = true
			continue
		}
		var handlers []string
		switch row.Heading {
		case "Events":
			handlers = zkEventHandlers(row.Cells)
		case "Znodes":
			for _, m := range zkPath.FindAllStringSubmatch(row.Cells[0], -1) {
				handlers = append(handlers, "znode "+m[1])
			}
		case "Requests":
			handlers = requestHandlers(row.Cells[0])
		case "Transitions":
			handlers = []string{"state " + row.Cells[0]}
		case "Error codes":
			handlers = []string{"error " + row.Cells[0]}
		default:
			requireBare(t, row.Heading)
			continue
		}
		cases = append(cases, caseOf(t, row, handlers, there))
	}
	for name := range zkBare {
		if !bare[name] {
			t.Errorf("no row is %q any more", name)
		}
	}
	return cases
}

// zkPath is a path in a cell, and quoted a name.
var (
	zkPath = regexp.MustCompile("`(/[^`]+)`")
	quoted = regexp.MustCompile("`(\\w+)`")
)

func zkEventHandlers(cells []string) (handlers []string) {
	if points := zkEvents[cells[0]]; points != nil {
		return points
	}
	for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
		handlers = append(handlers, "event machine."+m[1])
	}
	return handlers
}

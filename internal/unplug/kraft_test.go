package unplug

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"kbench/internal/testtable"
)

// kraftTable is what the README of KRaft mode may name.
var kraftTable = testtable.Table{
	Dir: "../../kraftcontroller",
	Packages: map[string]string{
		"": ".", "raft.": "raft", "raftclient.": "raftclient", "metalog.": "metalog", "machine.": "machine",
		"sim.": "../internal/sim", "metadata.": "../kafka/metadata", "wire.": "../kafka/wire", "guard.": "../kafka/guard", "broker.": "../broker", "loader.": "../broker/loader",
	},
	Stories: map[string]testtable.Stories{
		"story ":              {Package: "machine", Files: "testdata/stories", Test: "TestStories"},
		"raft story machine/": {Package: "raft", Files: "testdata/machine", Test: "TestStories"},
		"raft story quorum/":  {Package: "raft", Files: "testdata/quorum", Test: "TestQuorumStories"},
	},
	Names: `raft story \w+/\w+|story \w+|(?:\w+\.)?\bTest\w+`,
	Rows:  38,
}

// TestKRaftReadmeNamesTests: every test and story that the README of KRaft mode
// names exists.
func TestKRaftReadmeNamesTests(t *testing.T) { testtable.Check(t, kraftTable) }

// messages are the names of requests in package raft, where they are others.
var messages = map[string]string{
	"AddRaftVoter": "AddVoter", "RemoveRaftVoter": "RemoveVoter", "UpdateRaftVoter": "UpdateVoter", "ApiVersions": "APIVersions",
}

// kraftHandlers are those of rows whose first cell does not tell.
var kraftHandlers = map[string][]string{
	"Vote (0-2), pre-vote": {"request Vote;message raft.VoteRequest;message raft.VoteResponse", "message raft.PreVoteRequest"},
	"those of an unknown kind, or a level that is too high":                                    {"record of an unknown kind", "record of a level too high"},
	"control records: LeaderChange, SnapshotHeader, SnapshotFooter, KRaftVersion, KRaftVoters": {"control 2", "control 3", "control 4", "control 5", "control 6"},
	"metadata transactions": {"record *metadata.BeginTransactionRecord", "record *metadata.EndTransactionRecord", "record *metadata.AbortTransactionRecord"},
}

// kraftCases gives what each row of a handler claims: those of the README, and
// those of the tables in the documentation of the two machines.
func kraftCases(t *testing.T) []Case {
	there := kraftTable.Tests(t)
	var cases []Case
	for _, row := range kraftTable.Read(t) {
		handlers := kraftHandlers[row.Cells[0]]
		switch {
		case handlers != nil:
		case row.Heading == "Requests of the quorum":
			for _, m := range named.FindAllStringSubmatch(row.Cells[0], -1) {
				name := m[1]
				if messages[name] != "" {
					name = messages[name]
				}
				handlers = append(handlers, "request "+m[1]+";message raft."+name+"Request;message raft."+name+"Response")
			}
		case row.Heading == "Requests of brokers and clients":
			handlers = requestHandlers(row.Cells[0])
		case row.Heading == "Error codes around the machines":
			for name := range strings.SplitSeq(row.Cells[0], ", ") {
				handlers = append(handlers, "error "+name)
			}
		case strings.HasPrefix(row.Cells[0], "all of metadata.version"):
			for _, r := range machineRows(t) {
				if record, ok := strings.CutPrefix(r[0], "record "); ok && !strings.Contains(record, " ") {
					handlers = append(handlers, "codec *metadata."+record+"Record")
				}
			}
		default:
			requireBare(t, row.Heading)
			continue
		}
		cases = append(cases, caseOf(t, row, handlers, there))
	}
	for _, r := range machineRows(t) {
		row := testtable.Row{Heading: "machine", Cells: []string{r[0]}, Tests: []string{r[1]}}
		cases = append(cases, caseOf(t, row, machineHandlers(r[0]), there))
	}
	for _, r := range raftRows(t) {
		row := testtable.Row{Heading: "raft", Cells: r[:1], Tests: r[1:]}
		cases = append(cases, caseOf(t, row, raftHandlers(r[0]), there))
	}
	return cases
}

// machineRows gives what each row of the table of package machine is about, with
// its test as the README names it.
func machineRows(t *testing.T) (rows [][2]string) {
	for _, m := range docRows(t, "../../kraftcontroller/machine/doc.go", `(?m)^//\t(request|record|state|error) +(.*?) {2,}(\S+)$`, 90) {
		test, ok := strings.CutPrefix(m[3], "stories/")
		if test = "story " + test; !ok {
			test = "machine." + m[3]
		}
		rows = append(rows, [2]string{m[1] + " " + m[2], test})
	}
	return rows
}

func docRows(t *testing.T, file, row string, least int) [][]string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(row).FindAllStringSubmatch(string(src), -1)
	if len(rows) < least {
		t.Fatalf("%s: only %d rows are read", file, len(rows))
	}
	return rows
}

// machineHandlers gives what a row of package machine takes out: "reassignment
// begins, ends" are two transitions of the same thing.
func machineHandlers(what string) []string {
	kind, name, _ := strings.Cut(what, " ")
	switch kind {
	case "request":
		return requestHandlers(name)
	case "record":
		if !strings.Contains(name, " ") {
			return []string{"record *metadata." + name + "Record"}
		}
	case "state":
		subject, transitions, ok := strings.Cut(name, " ")
		if !ok || strings.Contains(name, "->") {
			break
		}
		var handlers []string
		for transition := range strings.SplitSeq(transitions, ", ") {
			handlers = append(handlers, "state "+subject+" "+transition)
		}
		return handlers
	}
	return []string{what}
}

// raftRows gives what each row of the table of package raft is about, and its
// stories as the README names them.
func raftRows(t *testing.T) (rows [][]string) {
	for _, m := range docRows(t, "../../kraftcontroller/raft/doc.go", `(?m)^//\t(\S.*?) {2,}((?:machine|quorum)/.*)$`, 55) {
		row := []string{m[1]}
		for _, story := range strings.Fields(m[2]) {
			row = append(row, "raft story "+story)
		}
		rows = append(rows, row)
	}
	return rows
}

// raftHandlers gives what a row of package raft takes out. What it says of
// messages is what a machine prints when it sends or answers one.
func raftHandlers(what string) []string {
	name, rest, _ := strings.Cut(strings.TrimSuffix(what, ":"), " ")
	name = strings.TrimSuffix(name, ":")
	message := name
	if messages[name] != "" {
		message = messages[name]
	}
	switch {
	case name == "role", name == "transition":
		return []string{what}
	case rest == "NONE", name == "DescribeQuorum":
		return []string{"message raft." + message + "Request"}
	case name == "upgrade":
		return []string{"message raft.UpgradeRequest"}
	case strings.HasPrefix(rest, "epoch=") || strings.HasPrefix(rest, "leader="), name == "FetchSnapshot", messages[name] != "":
		return []string{"send raft." + message + "Request;message raft." + message + "Request"}
	case regexp.MustCompile(`^[A-Z_]{6,}$`).MatchString(name):
		return []string{"error " + name}
	}
	return []string{"raft " + what}
}

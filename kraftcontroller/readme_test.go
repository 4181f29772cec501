package kraftcontroller

import (
	"testing"

	"kbench/internal/testtable"
)

// TestReadmeNamesTests: every test and story that the README's tables name
// exists.
func TestReadmeNamesTests(t *testing.T) {
	testtable.Check(t, testtable.Table{
		Packages: map[string]string{
			"": ".", "raft.": "raft", "raftclient.": "raftclient", "metalog.": "metalog", "machine.": "machine",
			"sim.": "../internal/sim", "metadata.": "../kafka/metadata", "broker.": "../broker",
		},
		Stories: map[string]string{
			"story ": "machine/testdata/stories", "raft story machine/": "raft/testdata/machine", "raft story quorum/": "raft/testdata/quorum",
		},
		Names: `raft story \w+/\w+|story \w+|(?:\w+\.)?\bTest\w+`,
		Rows:  38,
	})
}

package zkcontroller

import (
	"testing"

	"kbench/internal/testtable"
)

// Every test that the README's tables name exists.
func TestReadmeNamesTests(t *testing.T) {
	testtable.Check(t, testtable.Table{
		Packages: map[string]string{"": ".", "zk.": "zk", "broker.": "../broker", "outage.": "../internal/outage"},
		Stories:  map[string]string{"story ": "machine/testdata/stories"},
		Names:    `story \w+|(?:zk\.|broker\.|outage\.)?\bTest\w+`,
		Rows:     45,
	})
}

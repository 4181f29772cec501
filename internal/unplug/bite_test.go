//go:build handlers

package unplug

import (
	"strings"
	"testing"

	"kbench/internal/testtable"
)

// TestHandlersBite takes out one handler after the other.
func TestHandlersBite(t *testing.T) { Bite(t, plan(t)) }

// TestHandlersTell: a test that does not miss its handler is told of, and so are
// one that does not run and a handler that no test misses.
func TestHandlersTell(t *testing.T) {
	const off = "event machine.TopicChange"
	b := newBench(t, plan(t))
	for _, c := range []struct {
		run      string
		handlers []string
		want     string
	}{
		{"TestStories/lifecycle", []string{off}, ""},
		{"TestStories/lifecycle", []string{"event machine.Nothing"}, "passes without event machine.Nothing"},
		{"TestStories/lifecycle", []string{off, "nothing"}, "no test of the row misses nothing"},
		{"TestStories/nothing", []string{off}, "does not pass with all handlers in"},
	} {
		tests := []testtable.Test{{Package: zkTable.Dir + "/machine", Run: c.run}}
		faults := strings.Join(b.try(Case{Handlers: c.handlers, Tests: tests}), "; ")
		if (c.want == "") != (faults == "") || !strings.Contains(faults, c.want) {
			t.Errorf("%s without %v: %q, want %q", c.run, c.handlers, faults, c.want)
		}
	}
}

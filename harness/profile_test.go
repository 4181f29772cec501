package harness

import (
	"context"
	"errors"
	"slices"
	"testing"

	"kbench/harness/provider"
)

// recording is a node whose JVM cannot give what it recorded.
type recording struct{ provider.Node }

func (recording) Name() string { return "controller-1001" }

func (recording) Collect(context.Context, string) error { return nil }

func (recording) DumpRecording(context.Context, string) error { return errors.New("no jcmd") }

// A recording that cannot be had is told, also of a node in a network of its own,
// and the rest is collected.
func TestNoRecording(t *testing.T) {
	run := newCellRun(t)
	var said []string
	run.Profile, run.Say = true, func(line string) { said = append(said, line) }
	if err := run.collectNode(t.Context(), wrapped{recording{}}, t.TempDir()); err != nil {
		t.Error(err)
	}
	if want := []string{"warning: no flight recording of controller-1001: no jcmd"}; !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
}

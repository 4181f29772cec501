package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kbench/results"
)

// version is set by the linker for releases: -X main.version=v1.2.3.
var version = ""

// tool says which kbench this is, for run folders and people.
func tool() results.Tool {
	t := results.Tool{Version: version, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	if t.Version == "" {
		t.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Commit = s.Value
		case "vcs.modified":
			t.Dirty = s.Value == "true"
		}
	}
	if t.Version == "" {
		t.Version = "(devel)"
	}
	return t
}

func toolText() string {
	t := tool()
	text := "kbench " + t.Version
	if t.Commit != "" {
		text += " commit " + t.Commit
		if t.Dirty {
			text += " with changes"
		}
	}
	return fmt.Sprintf("%s %s %s/%s", text, t.Go, runtime.GOOS, runtime.GOARCH)
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which kbench this is",
		Args:  atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), toolText())
			return err
		},
	}
}

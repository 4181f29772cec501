package main

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kbench/harness"
	"kbench/harness/live"
)

// watch shows a run while it goes on, to whom the flags say.
type watch struct {
	board *live.Board
	view  *live.View // nil where --quiet was given
	quiet bool
}

// startWatch starts the views. close must be called.
func startWatch(cmd *cobra.Command, plan live.Plan, quiet bool) *watch {
	w := &watch{board: live.NewBoard(plan), quiet: quiet}
	if !quiet {
		w.view = live.NewView(cmd.ErrOrStderr(), liveTerminal(os.Stderr, os.Getenv), w.board)
	}
	return w
}

// attach has a run tell the board.
func (w *watch) attach(o *harness.Options) { o.Say, o.Progress = w.board.Line, w.board.Update }

// close ends the views. It may be called again.
func (w *watch) close() {
	if w.view != nil {
		w.view.Close()
	}
}

// liveTerminal gives the terminal that f is, nil where lines cannot be redrawn
// on it or nobody looks: TERM is dumb, or CI is set and not empty. NO_COLOR
// counts when it is not empty and takes the colours only.
func liveTerminal(f *os.File, getenv func(string) string) *live.Terminal {
	if !term.IsTerminal(int(f.Fd())) || getenv("TERM") == "dumb" || getenv("CI") != "" {
		return nil
	}
	size := func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 1
		}
		return columns, rows
	}
	return &live.Terminal{Size: size, Colour: getenv("NO_COLOR") == ""}
}

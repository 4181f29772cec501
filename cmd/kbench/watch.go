package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kbench/harness"
	"kbench/harness/live"
)

// watch shows a run while it goes on, to whom the flags say.
type watch struct {
	board  *live.Board
	view   *live.View   // nil where --quiet was given
	server *live.Server // nil without --serve
}

// watchFlags are the flags of commands that run cells.
type watchFlags struct {
	quiet bool
	serve string
}

func (f *watchFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
	fl.StringVar(&f.serve, "serve", "", "show the run as a web page with charts, and as Prometheus metrics at /metrics, on host:port (port 0: a free one)")
}

// check says why the run could not be watched as asked.
func (f *watchFlags) check(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("serve") {
		return nil
	}
	if err := live.CheckAddr(f.serve); err != nil {
		return fmt.Errorf("--serve %w", err)
	}
	return nil
}

// startWatch starts the views. close must be called. An address that cannot be
// had is bad input.
func startWatch(cmd *cobra.Command, plan live.Plan, f watchFlags) (*watch, error) {
	w := &watch{board: live.NewBoard(plan)}
	if cmd.Flags().Changed("serve") {
		var err error
		if w.server, err = live.Serve(f.serve, w.board); err != nil {
			return nil, badInput(fmt.Errorf("--serve %w", err))
		}
		w.announce(cmd.ErrOrStderr(), f)
	}
	if !f.quiet {
		w.view = live.NewView(cmd.ErrOrStderr(), liveTerminal(os.Stderr, os.Getenv), w.board)
	}
	return w, nil
}

// announce says where the page is. With --quiet it is said where nobody could
// know it otherwise.
func (w *watch) announce(stderr io.Writer, f watchFlags) {
	if w.server.Exposed() {
		_, _ = fmt.Fprintf(stderr, "warning: --serve %s: whoever reaches this address can watch the run; 127.0.0.1 is for this machine alone\n", f.serve)
	}
	if !f.quiet || strings.HasSuffix(f.serve, ":0") {
		_, _ = fmt.Fprintf(stderr, "live page: %s\n", w.server.URL())
	}
}

// finish tells those who watch how the run ended. dir is its folder, empty
// where none was written.
func (w *watch) finish(verdict, dir string) {
	r := live.Result{Verdict: verdict}
	if path, err := filepath.Abs(filepath.Join(dir, "report.html")); err == nil && dir != "" {
		r.Report = path
	}
	w.board.Finish(r)
}

// attach has a run tell the board.
func (w *watch) attach(o *harness.Options) { o.Say, o.Progress = w.board.Line, w.board.Update }

// close ends the views. It may be called again.
func (w *watch) close() {
	w.leaveTerminal()
	if w.server != nil {
		w.server.Close()
	}
}

// leaveTerminal ends the view on stderr, which may be used by others then.
func (w *watch) leaveTerminal() {
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

// Package live shows where a run is while it goes on: a block of lines that is
// redrawn on a terminal, sparse plain lines anywhere else, a web page and
// Prometheus metrics where they are asked for.
//
// A Board holds what is known; the harness tells it by Update and Line, from
// the goroutines that measure, so it only keeps and never writes. View and
// Server look at the board at their own pace, each on goroutines of its own: a
// terminal that is stopped or a browser that hangs delays no measurement.
// The package must not know how a run is made, and stores nothing.
//
//	board := live.NewBoard(live.Plan{Name: "nightly"})
//	view := live.NewView(os.Stderr, live.Plain, board)
//	defer view.Close()
//	harness.Run(ctx, harness.Options{Progress: board.Update, Say: board.Line, ...})
package live

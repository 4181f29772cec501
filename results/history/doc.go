// Package history keeps what runs measured over months: an append-only file of
// one JSON line for each run, which is the truth, and a SQLite index of it,
// which is not.
//
// A line is self-contained and begins with the instant of its run in UTC, so
// that lines of two branches can be merged by union and sorted as text. A run
// is identified by its name and a digest of what it measured: the same run
// twice, in one file or after a merge, counts once. A crash in the middle of
// an add leaves at most one line without an end, which readers pass over and
// the next add moves aside.
//
// Read gives the Log: nights in order of their instants, accepted changes, and
// notes for the user. The Log answers what a night may be compared with
// (Before). Add, AddAccept and Prune change the file, each under its lock, from
// any process. Load gives the series of every figure, by the index where there
// is a good one.
//
// The package knows run folders by package results alone. It must not know
// gates, change points or commands; those read it:
//
//	night, err := history.FromRun(run)
//	added, err := history.Add("kbench-history/history.jsonl", night)
//	log, err := history.Read("kbench-history/history.jsonl")
//	for _, p := range log.Before(night, cell, figure, 10) {
//		fmt.Println(p.Night.Run, p.Figure.Median)
//	}
//
// Nothing here starts a goroutine that outlives its call. A Log is safe for
// concurrent reading.
package history

// Package export writes a history for other programs: tables for change-point
// tools, and gauges for Prometheus. The Go benchmark format of a night is
// package benchfmt's, on Night.ToRun.
//
//	loaded, err := history.Load("kbench-history")
//	skipped, err := export.CSV(os.Stdout, loaded.Series)
//
// It reads what history.Load gives, judges nothing, and runs on the caller's
// goroutine.
package export

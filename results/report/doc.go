// Package report shows a run folder to people: plain text for a terminal,
// Markdown for a pull request, one self-contained HTML page, and JSON for
// programs. Every form is derived from what a results.Run holds and from
// nothing else, so that `kbench report` makes them anew from an old folder,
// offline.
//
// It judges nothing: verdicts, figures and thresholds come from results. Text
// of others (names, specs, reasons) stays text in every form. Its functions may
// be called from any goroutine.
//
//	r, err := results.Open("kbench-results/latest")
//	rep, err := report.New(r)
//	page, err := rep.HTML()
package report

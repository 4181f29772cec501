// Package live shows where a run is while it goes on: one line that is
// rewritten on a terminal, sparse plain lines anywhere else.
//
// It owns nothing but the picture; the harness tells it by Update and Line,
// from any goroutine. Everything goes to stderr, so that stdout stays data.
package live

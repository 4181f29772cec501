package results

import "io"

// Resource is one line of metrics.jsonl: what one node used at one time. Sums
// count from the start of the node's process, so that they fall where it was
// started again.
type Resource struct {
	Cell         string `json:"cell"`
	Repeat       int    `json:"repeat"`  // from 1
	Attempt      int    `json:"attempt"` // at the repeat, 0 where it was the first
	MonoNs       int64  `json:"t"`       // CLOCK_MONOTONIC
	Node         string `json:"node"`
	CPUMs        int64  `json:"cpu_ms"`        // user and system, sum
	RSSBytes     int64  `json:"rss_bytes"`     // resident now
	HeapBytes    int64  `json:"heap_bytes"`    // live Go objects now, 0 where the node is no Go program
	Goroutines   int64  `json:"goroutines"`    // now, 0 where the node is no Go program
	WrittenBytes int64  `json:"written_bytes"` // to files and sockets, sum
	DataBytes    int64  `json:"data_bytes"`    // size of the data directory when it was last walked, 0 where that is not known: of a JVM in a container
}

// EachResource hands the lines of metrics.jsonl to f, in the order written. An
// error of f ends it.
func (r *Run) EachResource(f func(Resource) error) error {
	return eachOf(r.Dir, "metrics.jsonl", f)
}

// EachEvent hands the lines of events.jsonl to f, in the order written. An
// error of f ends it.
func (r *Run) EachEvent(f func(Event) error) error { return eachOf(r.Dir, "events.jsonl", f) }

func eachOf[T any](dir, name string, f func(T) error) error {
	if dir == "" {
		return errNoFolder
	}
	_, err := readAt(dir, name, func(src io.Reader) (struct{}, error) { return struct{}{}, eachLine(src, f) })
	return err
}

package report

import (
	"time"

	"kbench/results"
)

// NodeUse is what one node used in a cell, over its repeats.
type NodeUse struct {
	Cell         string  `json:"cell"`
	Node         string  `json:"node"`
	Seconds      float64 `json:"seconds"`      // that were sampled
	CPUSeconds   float64 `json:"cpuSeconds"`   // user and system
	PeakRSS      int64   `json:"peakRssBytes"` // greatest resident size seen
	PeakHeap     int64   `json:"peakHeapBytes"`
	Goroutines   int64   `json:"peakGoroutines"` // most at a time, 0 where the node is no Go program
	WrittenBytes int64   `json:"writtenBytes"`   // to files and sockets
	DataBytes    int64   `json:"dataBytes"`      // greatest size of its data directory
}

// cores is the mean use of CPU.
func (u NodeUse) cores() float64 {
	if u.Seconds <= 0 {
		return 0
	}
	return u.CPUSeconds / u.Seconds
}

// nodeSeries is one node's use over time.
type nodeSeries struct {
	last           results.Resource
	cpu, rss, heap *envelope // cores, bytes, bytes; nil beyond maxSeries nodes
}

// startWidth is the width of a bin to begin with.
const startWidth = int64(250 * time.Millisecond)

// maxStep is the longest time between two samples that is taken as one
// stretch: a node that was down used nothing.
const maxStep = int64(5 * time.Second)

// resource takes one line of metrics.jsonl.
func (s *story) resource(r results.Resource) error {
	if !s.known[r.Cell] {
		return nil
	}
	t := s.timelineOf(r.Cell, r.Repeat)
	t.saw(r.MonoNs)
	u := s.use[[2]string{r.Cell, r.Node}]
	if u == nil {
		u = &NodeUse{Cell: r.Cell, Node: r.Node}
		s.use[[2]string{r.Cell, r.Node}] = u
		s.used = append(s.used, u)
	}
	u.PeakRSS, u.PeakHeap, u.DataBytes = max(u.PeakRSS, r.RSSBytes), max(u.PeakHeap, r.HeapBytes), max(u.DataBytes, r.DataBytes)
	u.Goroutines = max(u.Goroutines, r.Goroutines)
	n := t.nodes[r.Node]
	if n == nil {
		n = &nodeSeries{last: r}
		if len(t.order) < maxSeries {
			n.cpu, n.rss, n.heap = newEnvelope(maxBins, startWidth), newEnvelope(maxBins, startWidth), newEnvelope(maxBins, startWidth)
			t.order = append(t.order, r.Node)
		}
		t.nodes[r.Node] = n
	}
	step := r.MonoNs - n.last.MonoNs
	// Sums begin anew where the node was started again.
	if step > 0 && step <= maxStep && r.CPUMs >= n.last.CPUMs {
		cpu := float64(r.CPUMs-n.last.CPUMs) / 1e3
		u.CPUSeconds += cpu
		u.Seconds += float64(step) / 1e9
		u.WrittenBytes += max(r.WrittenBytes-n.last.WrittenBytes, 0)
		n.cpu.add(r.MonoNs, cpu/(float64(step)/1e9))
	}
	n.rss.add(r.MonoNs, float64(r.RSSBytes))
	n.heap.add(r.MonoNs, float64(r.HeapBytes))
	n.last = r
	return nil
}

// Package nodemetrics samples what a node uses: CPU, memory, heap, written
// bytes, the size of its data, and whatever gauges its parts hand in. One
// JSON line a sample, stamped with CLOCK_MONOTONIC like the event trace.
//
// A node runs one Sampler on a goroutine of its own; the harness reads the
// file after the run. It knows neither controllers nor brokers.
package nodemetrics

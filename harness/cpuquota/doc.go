// Package cpuquota bounds the processor time of a child process by a control
// group of its own, and tells from the kernel's counts whether the bound is in
// force.
//
// It owns the groups, of version 1 and 2, and must not know what runs. Package
// child asks it; a Group belongs to one process and may be used from any
// goroutine. It needs the right to write kbench's own control group, which root
// has; the error says what was refused.
//
//	g, err := cpuquota.Limit("broker-1", pid, 20)
//	periods, throttled, err := g.Periods()
//	defer g.Close()
package cpuquota

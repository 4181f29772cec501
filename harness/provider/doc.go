// Package provider is the port behind which nodes run: as child processes
// (harness/process) or as containers (harness/docker).
//
// It owns the words Node, Networked, Provider and Signal and must not know what a
// node does. The harness calls it from one goroutine per cluster; Node methods may
// be called from any goroutine.
package provider

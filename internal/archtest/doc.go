// Package archtest is the import table of kbench, the purity of its machines
// and the layout of its repository, as a test. It parses every Go file itself:
// a test that asks another program is cached and misses what changed.
//
// It owns the rules and has no code outside of its tests; nobody imports it. A
// fault names the file, the line, the rule and the cure, for example
//
//	broker/server.go:12: broker imports kbench/harness: the measured does not know the measurer
package archtest

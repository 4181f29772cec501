// Package nodeconfig is the file that `kbench node --config FILE` reads: what
// one process of a cluster is, where it listens and how its timers are set.
//
// It is the whole contract between a provider, which writes the file, and a
// node, which obeys it; neither knows the other. It is pure data: JSON in and
// out, with a check that reports every fault at once.
//
//	cfg, err := nodeconfig.Load("broker-1.json")
package nodeconfig

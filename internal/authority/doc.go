// Package authority makes throw-away certificates: an authority of its own, and
// what it signs, in memory or as PEM files that a node's configuration names.
//
// Keys are ECDSA P-256. Everything lives for the length of a run or a test and
// is worth nothing afterwards; it is no authority for a cluster that stays.
// Tests and the harness call it, on any goroutine; a CA is safe for concurrent
// use.
//
//	ca, err := authority.New(dir)
//	files, err := ca.Issue("broker-1", authority.Subject{Name: "kafka", Hosts: []string{"127.0.0.1"}})
package authority

// Package heldtest holds ports of 127.0.0.1 for the servers of tests, so that a
// test loses none to another program between the choice and the start, or while
// a server that it stopped is down:
//
//	addr := fmt.Sprintf("127.0.0.1:%d", heldtest.Port(t))
//
// It runs on the goroutine of its test and knows no server.
package heldtest

package raft

import "kbench/kafka"

// Foreign is an input for a driver that steps another algorithm in the place of
// this package's Machine, which refuses it: what a peer sent in that algorithm's
// own form.
type Foreign struct {
	From    kafka.BrokerID
	Payload []byte // nil says that the peer cannot be reached
}

func (Foreign) input() {}

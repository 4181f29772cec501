package agent

import (
	"net/netip"
	"time"

	"kbench/harness/netfault"
)

// verb is what a request asks for.
type verb string

const (
	verbSet   verb = "set"   // make Faults all that is wrong
	verbReach verb = "reach" // connect to To, push Bytes and wait until they have arrived
	verbSend  verb = "send"  // send Count datagrams of Token to To
	verbHeard verb = "heard" // how many datagrams of Token have come
)

// request is one line to the agent.
type request struct {
	ID     int              `json:"id"`
	Do     verb             `json:"do"`
	Faults []netfault.Fault `json:"faults,omitempty"`
	To     netip.AddrPort   `json:"to,omitzero"`
	Within time.Duration    `json:"within,omitempty"`
	Bytes  int64            `json:"bytes,omitempty"`
	Token  string           `json:"token,omitempty"`
	Count  int              `json:"count,omitempty"`
}

// reply is one line from the agent. The first, of ID 0, says where it listens.
type reply struct {
	ID    int            `json:"id"`
	Here  netip.AddrPort `json:"here,omitzero"`
	Took  time.Duration  `json:"took,omitempty"`
	Count int            `json:"count,omitempty"`
	Error string         `json:"error,omitempty"`
}

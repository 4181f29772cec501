package raft

import (
	"time"

	"kbench/kafka"
)

// Machine is one node of the quorum. Make it with New.
type Machine struct {
	cfg Config
}

// New makes the machine of a node that starts with what its disk holds. The
// first Step starts its timers. The error names every fault of the
// configuration and of the persisted state.
func New(cfg Config, p Persisted) (*Machine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Machine{cfg: cfg}, nil
}

// Step hands one input to the machine. Now must not go back; its origin is the
// driver's choice. The deadline is when the driver must Step again (with Tick)
// if no other input comes; Never if there is nothing to wait for.
func (m *Machine) Step(now time.Duration, in Input) (Effects, time.Duration) {
	return Effects{HighWatermark: kafka.NoOffset}, Never
}

// Role gives the current role.
func (m *Machine) Role() Role { return Role{} }

// HighWatermark gives the high watermark this node knows, NoOffset where none.
func (m *Machine) HighWatermark() kafka.Offset { return kafka.NoOffset }

// LogStart gives the first offset of the log.
func (m *Machine) LogStart() kafka.Offset { return 0 }

// LogEnd gives the log end offset.
func (m *Machine) LogEnd() kafka.Offset { return 0 }

// Voters gives the voter set, by id. The caller must not write to it.
func (m *Machine) Voters() []Voter { return m.cfg.Voters }

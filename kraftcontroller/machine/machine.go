package machine

import (
	"fmt"
	"time"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// Machine is the controller. It belongs to one goroutine.
type Machine struct {
	cfg    Config
	now    time.Duration
	epoch  kafka.LeaderEpoch
	active bool
	voters []kafka.BrokerID

	log       state
	sessions  sessions
	purgatory purgatory
	tasks     tasks
	buckets   map[mutator]*tokenBucket // of this leadership; empty without quotas

	out Effects
}

// New gives a standby that has seen nothing of the log.
func New(cfg Config) (*Machine, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	return &Machine{cfg: cfg, epoch: kafka.NoEpoch, log: newState(), tasks: idleTasks(), buckets: map[mutator]*tokenBucket{}}, nil
}

// Active reports whether the machine is the active controller, and the epoch
// that it claimed last, NoEpoch for none.
func (m *Machine) Active() (bool, kafka.LeaderEpoch) { return m.active, m.epoch }

// Image gives the metadata at the last stable offset: what may be shown to
// others, and what a snapshot may hold.
func (m *Machine) Image() *metadata.Image { return m.log.committed.visible() }

// Working gives the metadata with all records that were appended, committed
// or not: what the next decision is made on.
func (m *Machine) Working() *metadata.Image { return m.image() }

// UncleanElections counts the elections of leaders that may have lost records,
// since the machine began.
func (m *Machine) UncleanElections() int64 { return m.log.unclean }

// Applied is the offset of the last record that was replayed, committed or not.
func (m *Machine) Applied() kafka.Offset { return m.log.head().last }

// Parked counts the requests whose answer waits.
func (m *Machine) Parked() int { return m.purgatory.len() }

// Step takes one input at time now, which never goes back, and gives what to
// do about it. An error is final.
func (m *Machine) Step(now time.Duration, in Input) (Effects, error) {
	m.now = max(m.now, now)
	m.out = Effects{}
	var err error
	switch in := in.(type) {
	case Claim:
		err = m.claim(in)
	case Renounce:
		m.renounce()
	case Committed:
		err = m.committed(in)
	case Snapshot:
		err = m.load(in)
	case Skip:
		if m.active {
			m.log.skipTo(in.NextOffset - 1)
		}
	case Voters:
		m.voters = in.IDs
	case Request:
		err = m.request(in)
	case Tick:
		if m.active {
			err = m.tick()
		}
	default:
		err = fmt.Errorf("machine: unknown input %T", in)
	}
	m.out.Deadline = m.deadline()
	return m.out, err
}

func (m *Machine) event(kind EventKind, broker kafka.BrokerID) {
	m.out.Events = append(m.out.Events, Event{kind, broker})
}

// image is the working image: what decisions are made from.
func (m *Machine) image() *metadata.Image { return m.log.head().image }

// version is the working image's metadata.version; that of the configuration
// while an empty log is given one.
func (m *Machine) version() metadata.MetadataVersion {
	if level := m.image().FeatureLevel(metadata.MetadataVersionFeature); level != 0 {
		return metadata.MetadataVersion(level)
	}
	return m.cfg.MetadataVersion
}

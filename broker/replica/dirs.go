package replica

import (
	"kbench/kafka"
)

// MaxDirs bounds the log directories of one broker.
const MaxDirs = 255

// dirState is one log directory. They are numbered from 1; one that failed stays
// so for as long as the Manager lives, as in Kafka.
type dirState struct {
	replicas int
	offline  bool
}

// place gives a directory for a new replica: the one where it lies already, or
// the one with the fewest that works.
func (m *Manager) place(known int) uint8 {
	if known == 0 {
		known = 1
		for i, d := range m.dirs {
			if best := m.dirs[known-1]; best.offline || !d.offline && d.replicas < best.replicas {
				known = i + 1
			}
		}
	}
	m.dirs[known-1].replicas++
	return uint8(known)
}

// offline reports whether the directory of r failed: it leads and follows nobody
// and takes no state over, whatever the controller says.
func (m *Manager) offline(r *replica) bool { return m.dirs[r.dir-1].offline }

// FailDir ends what the replicas of a log directory do, and gives their number.
// Whoever asks for one of them gets KAFKA_STORAGE_ERROR.
func (m *Manager) FailDir(dir int) int {
	m.mu.Lock()
	m.dirs[dir-1].offline = true // first: none is led or placed there any more
	m.mu.Unlock()
	n := 0
	m.each(func(r *replica) {
		if int(r.dir) != dir {
			return
		}
		n++
		m.stopRole(r)
		r.leader = kafka.NoLeader
		r.wake(kafka.KafkaStorageError)
	})
	return n
}

// Checkpoint is the high watermark of one replica.
type Checkpoint struct {
	Topic     string
	Partition int32
	Offset    kafka.Offset
}

// Checkpoints gives the high watermarks of each directory, the first at 0, of
// those replicas that have one: of the others it is 0, which a checkpoint need
// not say.
func (m *Manager) Checkpoints() [][]Checkpoint {
	out := make([][]Checkpoint, len(m.dirs))
	m.each(func(r *replica) {
		if r.highWatermark > 0 {
			at := &out[r.dir-1]
			*at = append(*at, Checkpoint{r.topic.name, r.partition, r.highWatermark})
		}
	})
	return out
}

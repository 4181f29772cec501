package metadata

import (
	"slices"

	"kbench/kafka"
)

const (
	// internAfter keeps small deltas free of the tables.
	internAfter = 64
	// internLimit bounds the tables; beyond it they begin anew.
	internLimit = 1 << 14
)

// internTable lets partitions set by one Delta share equal slices: a cluster
// has far fewer distinct assignments than partitions.
type internTable struct {
	seen     int
	replicas map[string][]kafka.BrokerID
	dirs     map[string][]kafka.UUID
	key      []byte
}

// share replaces the slices of p by equal ones of old or of earlier
// partitions. It never changes what p says.
func (t *internTable) share(p, old *Partition) {
	if slices.Equal(p.ISR, p.Replicas) {
		p.ISR = p.Replicas
	}
	if old != nil {
		p.Replicas = shareOne(p.Replicas, old.Replicas)
		p.Directories = shareOne(p.Directories, old.Directories)
		p.ISR = shareOne(p.ISR, p.Replicas, old.ISR)
		return
	}
	if t.seen++; t.seen < internAfter {
		return
	}
	if t.replicas == nil || len(t.replicas) > internLimit || len(t.dirs) > internLimit {
		t.replicas = map[string][]kafka.BrokerID{}
		t.dirs = map[string][]kafka.UUID{}
	}
	p.Replicas = t.ids(p.Replicas)
	p.ISR = t.ids(p.ISR)
	if len(p.Directories) > 0 {
		t.key = t.key[:0]
		for _, d := range p.Directories {
			t.key = append(t.key, d[:]...)
		}
		if s, ok := t.dirs[string(t.key)]; ok {
			p.Directories = s
		} else {
			t.dirs[string(t.key)] = p.Directories
		}
	}
}

func (t *internTable) ids(ids []kafka.BrokerID) []kafka.BrokerID {
	t.key = t.key[:0]
	for _, b := range ids {
		t.key = append(t.key, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
	}
	if s, ok := t.replicas[string(t.key)]; ok {
		return s
	}
	t.replicas[string(t.key)] = ids
	return ids
}

// shareOne gives the first of the candidates that equals s, else s.
func shareOne[T comparable](s []T, candidates ...[]T) []T {
	for _, c := range candidates {
		if slices.Equal(s, c) {
			return c
		}
	}
	return s
}

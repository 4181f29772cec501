package zkcontroller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

func notesPath(q machine.Notes) string {
	if q == machine.ISRNotes {
		return zk.ISRChangesPath
	}
	return zk.LogDirEventsPath
}

// readNotes reads a queue of notifications. Those that cannot be read are there
// to be removed, as in Kafka.
func (s *store) readNotes(ctx context.Context, b *machine.ReadNotes) error {
	path := notesPath(b.Queue)
	s.session.WatchChildren(path)
	var err error
	if b.Names, err = s.children(ctx, path); err != nil {
		return err
	}
	slices.Sort(b.Names)
	data, err := s.readAll(ctx, path, b.Names)
	if err != nil {
		return err
	}
	for _, d := range data {
		if b.Queue == machine.ISRNotes {
			if tps, err := zk.DecodePartitionSet(d); err == nil {
				b.Partitions = append(b.Partitions, tps...)
			}
		} else if id, err := zk.DecodeLogDirEvent(d); err == nil {
			b.Brokers = append(b.Brokers, id)
		}
	}
	return nil
}

// readAll reads the children of a path; one that is gone gives nil.
func (s *store) readAll(ctx context.Context, path string, names []string) ([][]byte, error) {
	data := make([][]byte, len(names))
	err := s.pipe(ctx, len(names), func(i int) zk.Op { return zk.Get(path + "/" + names[i]) }, func(i int, r zk.Result) error {
		if errors.Is(r.Err, zk.ErrNoNode) {
			return nil
		}
		data[i] = r.Data
		return r.Err
	})
	return data, err
}

func (s *store) removeNotes(ctx context.Context, b *machine.RemoveNotes) error {
	path := notesPath(b.Queue)
	return s.remove(ctx, len(b.Names), func(i int) string { return path + "/" + b.Names[i] })
}

// readConfigChanges reads what was written since, in the order of the numbers.
func (s *store) readConfigChanges(ctx context.Context, b *machine.ReadConfigChanges) error {
	s.session.WatchChildren(zk.ConfigChangesPath)
	names, err := s.children(ctx, zk.ConfigChangesPath)
	if err != nil {
		return err
	}
	number := func(name string) int64 { n, _ := zk.SequenceOf(name); return n }
	names = slices.DeleteFunc(names, func(name string) bool { n, ok := zk.SequenceOf(name); return !ok || n <= b.After })
	slices.SortFunc(names, func(a, c string) int { return cmp.Compare(number(a), number(c)) })
	b.Last = b.After
	if n := len(names); n > 0 {
		b.Last = number(names[n-1])
	}
	if b.SkipOld {
		return nil
	}
	data, err := s.readAll(ctx, zk.ConfigChangesPath, names)
	if err != nil {
		return err
	}
	for _, d := range data {
		if entity, err := zk.DecodeConfigChange(d); err == nil {
			b.Entities = append(b.Entities, entity)
		}
	}
	return nil
}

func (s *store) readBrokerConfigs(ctx context.Context, b *machine.ReadBrokerConfigs) error {
	var err error
	if b.Default, err = s.brokerConfig(ctx, zk.DefaultEntity); err != nil {
		return err
	}
	b.Own, err = s.brokerConfig(ctx, strconv.Itoa(int(b.ID)))
	return err
}

// brokerConfig gives the configuration of a broker, or of all by default; none
// where it is missing or cannot be read.
func (s *store) brokerConfig(ctx context.Context, entity string) (map[string]string, error) {
	path := zk.EntityConfigPath(zk.BrokerConfigs, entity)
	r := s.session.Do(ctx, zk.Get(path))
	if errors.Is(r.Err, zk.ErrNoNode) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, fmt.Errorf("read %s: %w", path, r.Err)
	}
	config, err := zk.DecodeConfig(r.Data)
	if err != nil {
		s.unreadable(path, "the defaults hold", err)
	}
	return config, nil
}

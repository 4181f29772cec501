package kafka

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Burden is what one broker of Kafka asks of the system for its replicas: each
// is a directory with an open segment and two mapped indexes.
type Burden struct {
	Replicas int
	Files    int // open at once
	Maps     int // memory maps, vm.max_map_count
}

// What a broker was seen to keep for each replica and beside them, 3.9 and 4.4
// alike.
const (
	filesBeside    = 140
	mapsPerReplica = 2
	mapsBeside     = 350
)

// BurdenOf gives the burden of a broker with so many replicas.
func BurdenOf(replicas int) Burden {
	return Burden{Replicas: replicas, Files: replicas + filesBeside, Maps: mapsPerReplica*replicas + mapsBeside}
}

// Limits are what the system allows one process; 0 where that is not known.
type Limits struct{ Files, Maps int }

// SystemLimits asks the system. Children of this process have its limit of open
// files; the engine of containers has one of its own, and they the kernel's
// limit of maps all the same.
func SystemLimits() Limits {
	var l Limits
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		l.Files = int(min(files.Max, 1<<31-1))
	}
	if b, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		l.Maps, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	return l
}

// Within reports whether the limits allow the burden; the error says which does
// not, and the cure.
func (b Burden) Within(l Limits) error {
	switch {
	case l.Files > 0 && b.Files > l.Files:
		return fmt.Errorf("each broker of Kafka would hold %d replicas and so %d open files, and a process may have %d: raise ulimit -n, add brokers, or write kafka.brokers: ours", b.Replicas, b.Files, l.Files)
	case l.Maps > 0 && b.Maps > l.Maps:
		return fmt.Errorf("each broker of Kafka would hold %d replicas and so %d memory maps, and a process may have %d: raise vm.max_map_count, add brokers, or write kafka.brokers: ours", b.Replicas, b.Maps, l.Maps)
	}
	return nil
}

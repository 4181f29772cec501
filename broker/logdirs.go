package broker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// LogDir is one log directory. What a broker keeps in it is meta.properties with
// the directory's id, and replication-offset-checkpoint (checkpoint.go).
type LogDir struct {
	Path string     // created where absent
	FS   metalog.FS // nil is the machine's
}

// logDirs are the log directories that Config names, numbered from 1 as in
// replica.Manager:
//
//	closed -> online   its meta.properties was read or made
//	closed -> offline  that failed; its id stays unknown
//	online -> offline  a write failed: until the broker starts again, as in Kafka
type logDirs struct {
	mu   sync.Mutex
	dirs []logDir
}

type logDir struct {
	LogDir
	held    *metalog.Directory // nil while closed
	offline bool
	failed  time.Time // when an online one went offline
	told    bool      // the controller knows that it did
}

// id is zero where it is not known.
func (d *logDir) id() kafka.UUID {
	if d.held == nil {
		return kafka.UUID{}
	}
	return d.held.Meta().DirectoryID
}

func (l *logDirs) init(dirs []LogDir) {
	for _, d := range dirs {
		if d.FS == nil {
			d.FS = metalog.OS()
		}
		l.dirs = append(l.dirs, logDir{LogDir: d})
	}
}

// openDirs takes the log directories for this broker, once the cluster's id is
// known. One that cannot be read or written is offline; one of another broker or
// cluster is an error. It may be called again.
func (b *Broker) openDirs(clusterID string) error {
	for i := range b.dirs.dirs {
		d := &b.dirs.dirs[i]
		if d.held != nil || d.offline {
			continue
		}
		held, err := metalog.OpenDirectory(d.FS, d.Path, clusterID, b.cfg.ID)
		if _, io := errors.AsType[syscall.Errno](err); io {
			if err := b.dirOffline(i+1, err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("log directory: %w", err)
		}
		b.dirs.mu.Lock()
		d.held = held
		b.dirs.mu.Unlock()
	}
	return nil
}

// closeDirs lets others have the directories, after Run.
func (b *Broker) closeDirs() {
	for i := range b.dirs.dirs {
		if d := &b.dirs.dirs[i]; d.held != nil {
			_ = d.held.Close() // it was only locked
		}
	}
}

// dirOffline ends the replicas of a directory in which something failed. The
// error says that no other is left.
func (b *Broker) dirOffline(dir int, reason error) error {
	l := &b.dirs
	l.mu.Lock()
	d := &l.dirs[dir-1]
	d.offline, d.failed, d.told = true, b.cfg.Now(), d.held == nil
	left := 0
	for i := range l.dirs {
		if !l.dirs[i].offline {
			left++
		}
	}
	l.mu.Unlock()
	n := b.replicas.FailDir(dir)
	b.log.Error("log directory failed", "path", d.Path, "replicas", n, "directoriesLeft", left, "reason", reason)
	b.cfg.Trace.Emit(trace.Event{Kind: trace.LogDirFailed, Broker: int32(b.cfg.ID), N: int64(n), Detail: d.Path})
	if left == 0 {
		return fmt.Errorf("all %d log directories have failed, the last with: %w", len(l.dirs), reason)
	}
	return nil
}

// several reports whether there is a choice of directories.
func (l *logDirs) several() bool { return len(l.dirs) > 1 }

// isOffline reports whether a directory failed.
func (l *logDirs) isOffline(dir int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dirs[dir-1].offline
}

// idOf gives the id of a directory, zero where it is not known.
func (l *logDirs) idOf(dir int) kafka.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dirs[dir-1].id()
}

// numberOf gives the directory with an id that the metadata has, 0 for none. An
// id that no directory has is that of one that could not be opened, if there is
// such a one: a replica in it must not be taken for lost.
func (l *logDirs) numberOf(id kafka.UUID) int {
	if !l.several() || metadata.IsReservedDirectory(id) {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unknown := 0
	for i := range l.dirs {
		switch at := l.dirs[i].id(); {
		case at == id:
			return i + 1
		case at.IsZero() && unknown == 0:
			unknown = i + 1
		}
	}
	return unknown
}

// ids gives the directories that work, or those that failed.
func (l *logDirs) ids(offline bool) [][16]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out [][16]byte
	for i := range l.dirs {
		if d := &l.dirs[i]; d.offline == offline && !d.id().IsZero() {
			out = append(out, d.id())
		}
	}
	return out
}

// told notes that the controller knows of failed directories.
func (l *logDirs) told(ids [][16]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.dirs {
		for _, id := range ids {
			if d := &l.dirs[i]; d.id() == id {
				d.told = true
			}
		}
	}
}

// untold gives since when the controller does not know of a failed directory,
// and false where it knows all.
func (l *logDirs) untold() (since time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.dirs {
		if d := &l.dirs[i]; d.offline && !d.told && (!ok || d.failed.Before(since)) {
			since, ok = d.failed, true
		}
	}
	return since, ok
}

// described gives the path of each directory as clients are told it, and whether
// it failed.
func (l *logDirs) described() (paths []string, offline []bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.dirs {
		path, err := filepath.Abs(l.dirs[i].Path)
		if err != nil {
			return nil, nil, err
		}
		paths, offline = append(paths, path), append(offline, l.dirs[i].offline)
	}
	return paths, offline, nil
}

// failDir is dirOffline while the broker runs: the controller is told, and
// without a directory the broker ends.
func (b *Broker) failDir(ctx context.Context, dir int, reason error) {
	if err := b.dirOffline(dir, reason); err != nil {
		b.die(err)
		return
	}
	b.wg.Go(func() { b.plane.logDirFailed(ctx) })
}

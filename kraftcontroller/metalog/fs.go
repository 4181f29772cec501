package metalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"golang.org/x/sys/unix"
)

// FS is the file layer under a log: the real one is OS, the one of tests and
// of brokers that keep no log on disk is MemFS. Paths are cleaned absolute or
// relative paths; errors for absent files satisfy errors.Is(err, os.ErrNotExist).
type FS interface {
	// Open opens a file for reading and writing, made empty where absent.
	Open(name string) (File, error)
	ReadFile(name string) ([]byte, error)
	// ReadDir gives the names in dir, sorted.
	ReadDir(dir string) ([]string, error)
	MkdirAll(dir string) error
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// Lock takes name exclusively until the result is closed or the process
	// ends. ErrLocked says that somebody has it.
	Lock(name string) (io.Closer, error)
}

// File is one open file. Writes are durable after Sync only.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
}

// ErrLocked says that another process uses the directory.
var ErrLocked = errors.New("already in use by another process")

// OS gives the file system of the machine.
func OS() FS { return osFS{} }

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (osFS) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, os.ErrPermission) { // Kafka's snapshots are read-only
		if ro, roErr := os.Open(name); roErr == nil {
			f, err = ro, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

func (osFS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	sort.Strings(names)
	return names, nil
}

func (osFS) MkdirAll(dir string) error    { return os.MkdirAll(dir, 0o755) }
func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(name string) error     { return os.Remove(name) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return f, nil
}

// WriteAtomic replaces name by data so that after a crash either the old or
// the new content is there, whole: temporary file, fsync, rename, fsync of the
// directory.
func WriteAtomic(fs FS, name string, data []byte) error { return replace(fs, name, data, true) }

// replace is WriteAtomic, which a log that syncs nothing does without fsync.
func replace(fs FS, name string, data []byte, sync bool) error {
	tmp := name + ".tmp"
	f, err := fs.Open(tmp)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(tmp, name); err != nil || !sync {
		return err
	}
	return fs.SyncDir(filepath.Dir(name))
}

package txnlog

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FS is the file layer, so that tests can break it on purpose.
type FS interface {
	MkdirAll(dir string) error
	// List gives the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Create makes or empties a file for writing.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (io.ReadCloser, error)
	// Append opens an existing file for writing at its end after cutting it to
	// size bytes.
	Append(name string, size int64) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
}

// File is a file being written.
type File interface {
	io.Writer
	// Sync returns when all that was written is durable.
	Sync() error
	Close() error
}

// OS is the real file system. Sync is fdatasync, as ZooKeeper's.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o755) }

func (osFS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (osFS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

func (osFS) Append(name string, size int64) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		return nil, closeAfter(f, err)
	}
	if _, err := f.Seek(size, io.SeekStart); err != nil {
		return nil, closeAfter(f, err)
	}
	return osFile{f}, nil
}

func closeAfter(f io.Closer, err error) error {
	_ = f.Close()
	return err
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(name string) error     { return os.Remove(name) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return closeBoth(d.Sync(), d)
}

func closeBoth(err error, c io.Closer) error {
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return err
}

type osFile struct{ f *os.File }

func (o osFile) Write(b []byte) (int, error) { return o.f.Write(b) }
func (o osFile) Close() error                { return o.f.Close() }

func (o osFile) Sync() error {
	for {
		if err := unix.Fdatasync(int(o.f.Fd())); err != unix.EINTR {
			return err
		}
	}
}

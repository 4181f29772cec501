package txnlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// MemFS is a file layer in memory that can fail and crash: it keeps apart what
// was written from what was made durable. It is safe for concurrent use. The
// zero value is not usable; see NewMemFS.
type MemFS struct {
	mu      sync.Mutex
	files   map[string]*memFile // as the running system sees them
	durable map[string]*memFile // as a crash leaves the directory
	// FailWrite and FailSync, if set, are asked before each write and sync of
	// the named file; what they return is what the caller gets.
	FailWrite, FailSync func(name string) error
}

type memFile struct {
	data   []byte
	synced int // bytes of data that a crash keeps
}

// NewMemFS gives an empty file system.
func NewMemFS() *MemFS {
	return &MemFS{files: map[string]*memFile{}, durable: map[string]*memFile{}}
}

// Crash gives the file system as the machine's sudden end leaves it: names and
// bytes that were synced, and of each file's unsynced bytes as many as keep
// says, from none to all; those kept are garbled if garble.
func (m *MemFS) Crash(keep func(unsynced int) int, garble bool) *MemFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMemFS()
	names := make([]string, 0, len(m.durable))
	for name := range m.durable {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := m.durable[name]
		n := f.synced + keep(len(f.data)-f.synced)
		data := slices.Clone(f.data[:n])
		if garble {
			for i := f.synced; i < n; i++ {
				data[i] ^= 0x5a
			}
		}
		g := &memFile{data: data, synced: n}
		after.files[name], after.durable[name] = g, g
	}
	return after
}

// Size is the length of a file as the running system sees it, 0 if missing.
func (m *MemFS) Size(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[name]; f != nil {
		return len(f.data)
	}
	return 0
}

// Corrupt flips a bit of a file.
func (m *MemFS) Corrupt(name string, at int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name].data[at] ^= 1
}

// MkdirAll implements FS; directories need not be made.
func (m *MemFS) MkdirAll(string) error { return nil }

// List implements FS.
func (m *MemFS) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name := range m.files {
		if filepath.Dir(name) == filepath.Clean(dir) {
			out = append(out, filepath.Base(name))
		}
	}
	slices.Sort(out)
	return out, nil
}

// Create implements FS. The name is durable after SyncDir.
func (m *MemFS) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = &memFile{}
	return &memHandle{m, name, m.files[name]}, nil
}

// Open implements FS.
func (m *MemFS) Open(name string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	if f == nil {
		return nil, fmt.Errorf("open %s: %w", name, os.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(slices.Clone(f.data))), nil
}

// Append implements FS.
func (m *MemFS) Append(name string, size int64) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	if f == nil || int(size) > len(f.data) {
		return nil, fmt.Errorf("append to %s at %d: %w", name, size, os.ErrNotExist)
	}
	f.data = f.data[:size]
	f.synced = min(f.synced, int(size))
	return &memHandle{m, name, f}, nil
}

// Rename implements FS.
func (m *MemFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[from]
	if f == nil {
		return fmt.Errorf("rename %s: %w", from, os.ErrNotExist)
	}
	delete(m.files, from)
	m.files[to] = f
	return nil
}

// Remove implements FS.
func (m *MemFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return fmt.Errorf("remove %s: %w", name, os.ErrNotExist)
	}
	delete(m.files, name)
	return nil
}

// SyncDir implements FS.
func (m *MemFS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := func(name string) bool { return filepath.Dir(name) == filepath.Clean(dir) }
	for name := range m.durable {
		if in(name) && m.files[name] == nil {
			delete(m.durable, name)
		}
	}
	for name, f := range m.files {
		if in(name) {
			m.durable[name] = f
		}
	}
	return nil
}

type memHandle struct {
	m    *MemFS
	name string
	f    *memFile
}

var errClosed = errors.New("file is closed")

func (h *memHandle) Write(b []byte) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.f == nil {
		return 0, errClosed
	}
	if h.m.FailWrite != nil {
		if err := h.m.FailWrite(h.name); err != nil {
			half := b[:len(b)/2] // a full disk takes a part
			h.f.data = append(h.f.data, half...)
			return len(half), err
		}
	}
	h.f.data = append(h.f.data, b...)
	return len(b), nil
}

func (h *memHandle) Sync() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.f == nil {
		return errClosed
	}
	if h.m.FailSync != nil {
		if err := h.m.FailSync(h.name); err != nil {
			return err
		}
	}
	h.f.synced = len(h.f.data)
	return nil
}

func (h *memHandle) Close() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.f = nil
	return nil
}

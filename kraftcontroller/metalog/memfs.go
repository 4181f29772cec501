package metalog

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Op names a file operation that a fault can hit.
type Op string

// The operations.
const (
	OpOpen    Op = "open"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpSyncDir Op = "syncdir"
)

// MemFS is an FS in memory that knows what a disk would have lost: Crash
// drops every byte not synced and every name not made durable by SyncDir. The
// zero value is an empty disk without faults. Safe for concurrent use.
type MemFS struct {
	// Fault, where set, is asked before each operation and fails it with the
	// error it gives, or holds it up as a slow disk does. Set it before use.
	Fault func(op Op, name string) error
	// LimitBytes is the size of the disk; 0 is without limit. A write that
	// does not fit writes what fits and fails with ENOSPC.
	LimitBytes int64

	mu      sync.Mutex
	names   map[string]*memFile // as a process sees it
	durable map[string]*memFile // as after a power cut
	locked  map[string]bool
	used    int64
}

type memFile struct {
	data   []byte
	synced int // so many bytes would survive a power cut
}

func (m *MemFS) init() {
	if m.names == nil {
		m.names, m.durable, m.locked = map[string]*memFile{}, map[string]*memFile{}, map[string]bool{}
	}
}

// lock asks Fault, without the lock, since it may stall as a slow disk does,
// and takes the lock if the operation may go on.
func (m *MemFS) lock(op Op, name string) error {
	if err := m.fault(op, name); err != nil {
		return err
	}
	m.mu.Lock()
	m.init()
	return nil
}

func (m *MemFS) fault(op Op, name string) error {
	if m.Fault == nil {
		return nil
	}
	if err := m.Fault(op, name); err != nil {
		return &fs.PathError{Op: string(op), Path: name, Err: err}
	}
	return nil
}

// Open gives the file, made empty where absent.
func (m *MemFS) Open(name string) (File, error) {
	if err := m.lock(OpOpen, name); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	f := m.names[name]
	if f == nil {
		f = &memFile{}
		m.names[name] = f
	}
	return &memHandle{fs: m, name: name, file: f}, nil
}

// ReadFile gives a copy of the content.
func (m *MemFS) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.names[filepath.Clean(name)]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return append([]byte(nil), f.data...), nil
}

// ReadDir gives the names in dir, sorted; an absent directory is empty.
func (m *MemFS) ReadDir(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	prefix := filepath.Clean(dir) + "/"
	var names []string
	for name := range m.names {
		if rest, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	sort.Strings(names)
	return names, nil
}

// MkdirAll does nothing: directories exist by their files.
func (m *MemFS) MkdirAll(string) error { return nil }

// Rename moves a file over another.
func (m *MemFS) Rename(from, to string) error {
	from, to = filepath.Clean(from), filepath.Clean(to)
	if err := m.lock(OpRename, to); err != nil {
		return err
	}
	defer m.mu.Unlock()
	f := m.names[from]
	if f == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	if old := m.names[to]; old != nil {
		m.used -= int64(len(old.data))
	}
	m.names[to] = f
	delete(m.names, from)
	return nil
}

// Remove removes a file.
func (m *MemFS) Remove(name string) error {
	name = filepath.Clean(name)
	if err := m.lock(OpRemove, name); err != nil {
		return err
	}
	defer m.mu.Unlock()
	f := m.names[name]
	if f == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	m.used -= int64(len(f.data))
	delete(m.names, name)
	return nil
}

// SyncDir makes the names of dir durable.
func (m *MemFS) SyncDir(dir string) error {
	if err := m.lock(OpSyncDir, dir); err != nil {
		return err
	}
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	for name := range m.durable {
		if filepath.Dir(name) == dir && m.names[name] == nil {
			delete(m.durable, name)
		}
	}
	for name, f := range m.names {
		if filepath.Dir(name) == dir {
			m.durable[name] = f
		}
	}
	return nil
}

type memLock struct {
	fs   *MemFS
	name string
}

func (l memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locked, l.name)
	return nil
}

// Lock takes name exclusively.
func (m *MemFS) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.init()
	if m.locked[name] {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	m.locked[name] = true
	return memLock{m, name}, nil
}

// Crash is a power cut: what was not synced is gone, locks are free. For each
// file, torn, where not nil, says how many of the bytes written behind the
// synced ones survived after all; it gets their number and answers within 0
// and it. Handles opened before must not be used again.
func (m *MemFS) Crash(torn func(name string, unsynced int) int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.init()
	after := make(map[string]*memFile, len(m.durable))
	m.used = 0
	for _, name := range sortedNames(m.durable) {
		f := m.durable[name]
		keep := f.synced
		if n := len(f.data) - f.synced; torn != nil && n > 0 {
			keep += torn(name, n)
		}
		after[name] = &memFile{data: append([]byte(nil), f.data[:keep]...), synced: keep}
		m.used += int64(keep)
	}
	m.names, m.durable, m.locked = after, map[string]*memFile{}, map[string]bool{}
	for name, f := range after {
		m.durable[name] = f
	}
}

func sortedNames(files map[string]*memFile) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

type memHandle struct {
	fs   *MemFS
	name string
	file *memFile
}

func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if off >= int64(len(h.file.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.file.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) WriteAt(p []byte, off int64) (int, error) {
	if err := h.fs.lock(OpWrite, h.name); err != nil {
		return 0, err
	}
	defer h.fs.mu.Unlock()
	full := false
	if grow := off + int64(len(p)) - int64(len(h.file.data)); grow > 0 && h.fs.LimitBytes > 0 && h.fs.used+grow > h.fs.LimitBytes {
		full = true
		p = p[:max(0, int64(len(p))-(h.fs.used+grow-h.fs.LimitBytes))]
	}
	h.resize(max(int64(len(h.file.data)), off+int64(len(p))))
	n := copy(h.file.data[off:], p)
	if full {
		return n, &fs.PathError{Op: "write", Path: h.name, Err: unix.ENOSPC}
	}
	return n, nil
}

func (h *memHandle) resize(size int64) {
	old := int64(len(h.file.data))
	h.fs.used += size - old
	if size <= old {
		h.file.data = h.file.data[:size:size]
		return
	}
	h.file.data = append(h.file.data, make([]byte, size-old)...)
}

func (h *memHandle) Size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return int64(len(h.file.data)), nil
}

// Truncate is taken as durable at once where it cuts synced bytes: a disk may
// do so, and a log must stand either.
func (h *memHandle) Truncate(size int64) error {
	if err := h.fs.lock(OpWrite, h.name); err != nil {
		return err
	}
	defer h.fs.mu.Unlock()
	h.resize(size)
	h.file.synced = min(h.file.synced, int(size))
	return nil
}

func (h *memHandle) Sync() error {
	if err := h.fs.lock(OpSync, h.name); err != nil {
		return err
	}
	defer h.fs.mu.Unlock()
	h.file.synced = len(h.file.data)
	return nil
}

func (h *memHandle) Close() error { return nil }

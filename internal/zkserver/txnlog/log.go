package txnlog

import (
	"errors"
	"fmt"
	"path/filepath"
)

const logMagic = "KBZKLOG1"

// ErrBroken is what a log answers after its first failed write or sync.
var ErrBroken = errors.New("transaction log is broken by an earlier error; restart the server to recover from disk")

// Log is the file transactions are appended to. One goroutine uses it.
type Log struct {
	fs     FS
	dir    string
	name   string // of the file being written; "" until the first append after a roll
	file   File
	size   int64
	broken bool
	// Syncs counts completed calls of Sync.
	Syncs int64
}

// Append writes whole records of which the first is of transaction
// firstZxid. They are durable after Sync.
func (l *Log) Append(records []byte, firstZxid int64) error {
	if l.broken {
		return ErrBroken
	}
	if l.file == nil {
		if err := l.create(firstZxid); err != nil {
			l.broken = true
			return err
		}
	}
	n, err := l.file.Write(records)
	l.size += int64(n)
	if err != nil {
		l.broken = true
		return fmt.Errorf("append to %s: %w", l.name, err)
	}
	return nil
}

// create starts the next file. Its magic is durable before its name is, and
// its name before its content counts: a file without the magic is damaged, not
// torn.
func (l *Log) create(firstZxid int64) error {
	name := filepath.Join(l.dir, fmt.Sprintf("%s%x", logPrefix, firstZxid))
	f, err := l.fs.Create(name)
	if err != nil {
		return fmt.Errorf("create transaction log: %w", err)
	}
	if _, err := f.Write([]byte(logMagic)); err != nil {
		return closeAfter(f, fmt.Errorf("begin %s: %w", name, err))
	}
	if err := f.Sync(); err != nil {
		return closeAfter(f, fmt.Errorf("sync %s: %w", name, err))
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return closeAfter(f, fmt.Errorf("sync %s: %w", l.dir, err))
	}
	l.file, l.name, l.size = f, name, int64(len(logMagic))
	return nil
}

// Sync makes everything appended durable.
func (l *Log) Sync() error {
	if l.broken {
		return ErrBroken
	}
	if l.file == nil {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		l.broken = true
		return fmt.Errorf("sync %s: %w", l.name, err)
	}
	l.Syncs++
	return nil
}

// Size is the length of the current file in bytes.
func (l *Log) Size() int64 { return l.size }

// Roll syncs and leaves the current file; the next Append starts another. What
// is in the files left behind no longer changes and can be compacted.
func (l *Log) Roll() error {
	if l.file == nil {
		return nil
	}
	if err := l.Sync(); err != nil {
		return err
	}
	err := l.file.Close()
	l.file, l.size = nil, 0
	return err
}

// Close syncs and closes. It is idempotent.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	var err error
	if !l.broken {
		err = l.file.Sync()
	}
	err = closeBoth(err, l.file)
	l.file, l.broken = nil, true
	return err
}

package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Added is what an add did.
type Added struct {
	Added   []string // run names
	Skipped []string // runs that were there already
	Notes   []string // repairs, and what git should be told
}

// Add appends nights to the history, which is made where absent; a directory
// means the FileName in it. Runs that are there already are skipped. It may be
// called by many processes at once: each add is one write of whole lines under
// the file's lock, then an fsync. Where the write fails nothing is added.
func Add(path string, nights ...*Night) (Added, error) {
	var out Added
	err := appendTo(path, &out.Notes, func(l *Log) ([]any, error) {
		var lines []any
		for _, n := range nights {
			if err := n.check(); err != nil {
				return nil, err
			}
			if l.Insert(n) {
				lines, out.Added = append(lines, n), append(out.Added, n.Run)
			} else {
				out.Skipped = append(out.Skipped, n.Run)
			}
		}
		return lines, nil
	})
	return out, err
}

// AddAccept appends an accepted change. Its run must be in the history.
func AddAccept(path string, a Accept) (notes []string, err error) {
	err = appendTo(path, &notes, func(l *Log) ([]any, error) {
		if !l.known[identity{a.Run, a.Digest}] {
			return nil, fmt.Errorf("%s: the history has no run %q", path, a.Run)
		}
		if !l.InsertAccept(a) {
			return nil, nil
		}
		return []any{a}, nil
	})
	return notes, err
}

// appendTo lets choose see the history as it is under the lock and appends
// the lines that it returns.
func appendTo(path string, notes *[]string, choose func(*Log) ([]any, error)) error {
	path = Locate(path)
	made, err := makeDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	f, err := openForAppend(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	src, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	old, err := decode(path, src)
	if err != nil {
		return err
	}
	lines, err := choose(old.log(path))
	if err != nil {
		return err
	}
	if err := old.repair(f, path, notes); err != nil {
		return err
	}
	if len(src) == 0 {
		*notes = append(*notes, tellGit(path, made)...)
	}
	return writeLines(f, lines)
}

// makeDir makes the directory of a history; made says that it was not there.
func makeDir(dir string) (made bool, err error) {
	if _, err := os.Stat(dir); err == nil {
		return false, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, fmt.Errorf("make the directory of the history: %w", err)
	}
	return true, nil
}

// openForAppend opens the history under its lock and makes it where absent.
func openForAppend(path string) (*os.File, error) {
	f, err := openLocked(path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if errors.Is(err, errNoLocks) {
		return nil, errors.Join(fmt.Errorf("%s: %w, so that two adds could mix; keep the history on another one", path, err), f.Close())
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no file; name the history, such as kbench-history/%s", path, FileName)
	case err == nil && info.Size() == 0:
		err = syncDir(filepath.Dir(path)) // the name is as durable as the lines
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// writeLines appends lines by one write and makes them durable. After a
// failure the file is as it was.
func writeLines(f *os.File, lines []any) error {
	var buf []byte
	for _, v := range lines {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("write the history: %w", err)
		}
		buf = append(append(buf, b...), '\n')
	}
	if len(buf) == 0 {
		return nil
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	if _, err = f.Write(buf); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the history: %w; nothing was added", err), f.Truncate(size))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

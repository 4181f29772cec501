package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FileName is the history in a directory that holds one.
const FileName = "history.jsonl"

// Locate gives the file that path means: a directory, or a name that ends as
// one, means the history in it.
func Locate(path string) string {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() || strings.HasSuffix(path, "/") {
		return filepath.Join(path, FileName)
	}
	return path
}

// Read reads a history: a file, or a directory with a FileName. It waits for a
// writer, needs no right to write, and changes nothing. The error names the
// damaged lines and their cures; a line that a crash cut short at the end is
// no error but a note.
func Read(path string) (*Log, error) {
	path = Locate(path)
	src, _, notes, err := slurp(path)
	if err != nil {
		return nil, err
	}
	f, err := decode(path, src)
	if err != nil {
		return nil, err
	}
	l := f.log(path)
	l.Notes = append(notes, l.Notes...)
	return l, nil
}

// slurp reads the file while no writer is at work.
func slurp(path string) (src []byte, info fs.FileInfo, notes []string, err error) {
	f, err := openLocked(path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil, fmt.Errorf("%s: there is no history; `kbench history add RUN --history %s` begins one", path, path)
	case errors.Is(err, errNoLocks):
		notes = append(notes, fmt.Sprintf("%s: the file system has no locks; a run that is being added may be passed over", path))
	case err != nil:
		return nil, nil, nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("%s is no file; name the history, such as kbench-history/%s", path, FileName)
	}
	if err == nil {
		src, err = io.ReadAll(f)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the history: %w", err)
	}
	return src, info, notes, nil
}

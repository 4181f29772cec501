package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Keep says which nights a prune leaves. What both fields leave stays.
type Keep struct {
	Newest int       // so many of each spec; 0 means all
	Before time.Time // nights that started before are dropped; zero drops none
}

// Pruned is what a prune did.
type Pruned struct {
	Runs    []string // names of the runs that were dropped
	Accepts int      // accepted changes that no night needs any more
	Kept    int      // nights
	Notes   []string
}

// Prune drops old nights by writing a new file, in the order of instants and
// without lines that stand twice, and renaming it over the old one under its
// lock. An accepted change stays as long as a night does that it divides from
// others.
func Prune(path string, keep Keep) (Pruned, error) {
	var out Pruned
	path = Locate(path)
	path, err := filepath.EvalSymlinks(path) // the rename must not replace a link
	if err != nil {
		return out, fmt.Errorf("%s: there is no history to prune", path)
	}
	f, err := openForAppend(path)
	if err != nil {
		return out, err
	}
	defer func() { _ = f.Close() }()
	src, err := io.ReadAll(f)
	if err != nil {
		return out, fmt.Errorf("read the history: %w", err)
	}
	old, err := decode(path, src)
	if err != nil {
		return out, err
	}
	if err := old.repair(f, path, &out.Notes); err != nil {
		return out, err
	}
	left := old.prune(keep, &out)
	if len(left) == len(old.lines) {
		return out, nil
	}
	return out, replace(path, left)
}

// prune chooses the lines that stay.
func (f *file) prune(keep Keep, out *Pruned) []line {
	drop := make(map[identity]bool)
	l := f.log("")
	newest := make(map[string]int)
	var oldest *Night
	for _, n := range slices.Backward(l.Nights) {
		newest[n.Spec]++
		if n.At.Before(keep.Before) || keep.Newest > 0 && newest[n.Spec] > keep.Newest {
			drop[n.identity()] = true
			out.Runs = append(out.Runs, n.Run)
		} else {
			oldest = n
			out.Kept++
		}
	}
	slices.Reverse(out.Runs)
	var left []line
	for _, ln := range f.lines {
		switch {
		case ln.night != nil && !drop[ln.night.identity()]:
			drop[ln.night.identity()] = true // a second line of the same run
			left = append(left, ln)
		case ln.accept != nil && (oldest == nil || ln.accept.RunAt.Before(oldest.At)):
			out.Accepts++
		case ln.accept != nil:
			left = append(left, ln)
		}
	}
	slices.SortStableFunc(left, func(a, b line) int { return a.at().Compare(b.at()) })
	return left
}

// at is what a line begins with.
func (l *line) at() time.Time {
	if l.night != nil {
		return l.night.At
	}
	return l.accept.At
}

// replace writes the lines to a new file and renames it over path.
func replace(path string, lines []line) (err error) {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+".prune-"
	if err := removeStale(dir, prefix); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return fmt.Errorf("prune the history: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	var buf []byte
	for _, l := range lines {
		buf = append(append(buf, l.raw...), '\n')
	}
	_, err = tmp.Write(buf)
	if info, serr := os.Stat(path); serr == nil {
		err = errors.Join(err, tmp.Chmod(info.Mode().Perm()))
	}
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("prune the history: %w", err)
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("prune the history: %w", err)
	}
	return syncDir(dir)
}

// removeStale removes what a prune left that was killed: under the lock there
// is no other.
func removeStale(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("prune the history: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("prune the history: %w", err)
			}
		}
	}
	return nil
}

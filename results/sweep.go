package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockName is a file of an unfinished run folder on which its writer holds a
// lock; the kernel gives it up with the process, however that ends.
const lockName = ".lock"

// holdLock makes the file and locks it. Closing it gives the lock up.
func holdLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the run folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the run folder: %w", err), f.Close())
	}
	return f, nil
}

// SweepPartials removes the unfinished run folders in out whose writers are
// gone, and returns their names. Those that can be resumed and hold something
// finished are kept and returned as such, unless all go. Nothing else is touched.
func SweepPartials(out string, all bool) (removed, kept []string, err error) {
	dirs, err := filepath.Glob(filepath.Join(globEscape(out), PartialPrefix+"*"))
	if err != nil {
		return nil, nil, fmt.Errorf("look for unfinished runs: %w", err)
	}
	var errs []error
	for _, dir := range dirs {
		lock, err := holdLock(filepath.Join(dir, lockName))
		if err == nil && !all {
			if u, uerr := readUnfinished(dir); uerr == nil && u.Done > 0 {
				kept = append(kept, dir)
				errs = append(errs, lock.Close())
				continue
			}
		}
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			continue // its run goes on
		case errors.Is(err, unix.ENOTDIR):
			err = os.Remove(dir) // a probe, a link or a report's temporary file
		case err == nil:
			err = errors.Join(os.RemoveAll(dir), lock.Close())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("clean %s: %w", dir, err))
			continue
		}
		removed = append(removed, dir)
	}
	return removed, kept, errors.Join(errs...)
}

// globEscape takes a path literally.
func globEscape(path string) string {
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

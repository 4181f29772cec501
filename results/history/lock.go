package history

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience bounds the wait for another process that reads or writes.
const lockPatience = time.Minute

// lockPause is between two tries: flock has no deadline of its own.
const lockPause = 2 * time.Millisecond

// errNoLocks comes with the open file where its file system has no flock.
var errNoLocks = errors.New("the file system has no locks")

// openLocked opens the history under its lock: shared where it is only read.
// Closing the file gives the lock up, as does the end of the process.
//
// The lock is on the file itself, so that a history in a repository has no
// lock file beside it. Prune renames a new file over the old one; whoever
// waited for the old one sees that and opens again.
func openLocked(path string, flags int) (*os.File, error) {
	how := unix.LOCK_EX
	if flags&(os.O_WRONLY|os.O_RDWR) == 0 {
		how = unix.LOCK_SH
	}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(lockPause) {
		f, err := os.OpenFile(path, flags, 0o644)
		if err != nil {
			return nil, fmt.Errorf("open the history: %w", err)
		}
		err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
			return f, errNoLocks
		case err == nil && stillNamed(f, path):
			return f, nil
		case err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			_ = f.Close()
			return nil, fmt.Errorf("lock the history %s: %w", path, err)
		}
		_ = f.Close()
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s: another process has held its lock for %v; end it and try again", path, lockPatience)
		}
	}
}

// stillNamed reports whether path still names the file that was opened.
func stillNamed(f *os.File, path string) bool {
	opened, err1 := f.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(opened, named)
}

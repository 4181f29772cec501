package metalog

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// StartAnew is the cure of a voter's directory in which something is lost or
// damaged.
const StartAnew = "restore the data directory, or, once the quorum has a leader without this node, remove it (with dynamic voters, format it again) and let the node fetch the log from the others"

// mendMeta is the cure of a meta.properties that cannot be read.
const mendMeta = "restore the file, or remove the whole directory and begin it anew; that of a controller only once the quorum has a leader without it"

// curedError is an error that says what to do.
type curedError struct {
	err  error
	cure string
}

func (e *curedError) Error() string { return e.err.Error() + ": " + e.cure }

func (e *curedError) Unwrap() error { return e.err }

// Cured adds to an error of the file system what mends it, unless that is there
// already; other errors stay as they are.
func Cured(err error) error {
	if done := (*curedError)(nil); errors.As(err, &done) {
		return err
	}
	for _, c := range []struct {
		is   error
		cure string
	}{
		{ErrLocked, "end that process, or give this one another directory"},
		{unix.ENOSPC, "free some space on its disk"},
		{unix.EDQUOT, "free some space of its quota"},
		{unix.EROFS, "mount it writable, or give another directory"},
		{fs.ErrPermission, "let this process write there, or give another directory"},
		{unix.ENOTDIR, "a file is where a directory should be; give another directory"},
	} {
		if errors.Is(err, c.is) {
			return &curedError{err, c.cure}
		}
	}
	return err
}

// Refused reports whether a directory cannot be had as it was named, which who
// named it can mend: it is another node's, in use, or closed to this process. Every
// other error, such as a full disk or a damaged file, is a failure.
func Refused(err error) bool {
	for _, is := range []error{ErrFormatted, ErrForeign, ErrLocked, fs.ErrPermission, unix.EROFS, unix.ENOTDIR} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// damagedMeta is the error of a meta.properties that cannot be read.
func damagedMeta(file string, err error) error { return fmt.Errorf("%s: %w: %s", file, err, mendMeta) }

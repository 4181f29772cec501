package zkserver

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// dirLock keeps a second server off a data directory. The kernel drops it with
// the process, however that ends.
type dirLock struct{ f *os.File }

func lockDir(name string) (dirLock, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return dirLock{}, fmt.Errorf("zkserver: lock data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return dirLock{}, fmt.Errorf("zkserver: %s is held by another server (%w); stop it or use another data directory", name, err)
	}
	return dirLock{f}, nil
}

func (l dirLock) release() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}

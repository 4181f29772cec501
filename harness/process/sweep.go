package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"kbench/harness/child"
)

// ownerFile marks a work directory and names the kbench process it belongs to.
const ownerFile = "owner"

// Sweep removes every work directory below root whose owner, a child.Identity, is
// gone and one that mine knows, after killing the nodes that it left; nil knows
// all. It returns what it removed. Directories without an owner file are not
// kbench's and stay.
func Sweep(root string, mine func(owner string) bool) (removed []string, err error) {
	owners, err := filepath.Glob(filepath.Join(root, "*", ownerFile))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, owner := range owners {
		b, err := os.ReadFile(owner)
		if who := strings.TrimSpace(string(b)); err != nil || child.Lives(who) || mine != nil && !mine(who) {
			continue
		}
		dir := filepath.Dir(owner)
		pids, err := filepath.Glob(filepath.Join(dir, "*", "pid"))
		if err == nil {
			for _, file := range pids {
				err = errors.Join(err, killRecorded(file))
			}
		}
		if err == nil {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("clean %s: %w", dir, err))
			continue
		}
		removed = append(removed, dir)
	}
	return removed, errors.Join(errs...)
}

// killRecorded kills the process of a pid file, if it is still that process,
// and waits up to 30 s for its end.
func killRecorded(file string) error {
	if !child.Alive(file) {
		return nil
	}
	pid, _, err := child.Recorded(file)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); child.Alive(file); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not end after SIGKILL", pid)
		}
	}
	return nil
}

func writeOwner(dir string) error {
	return child.Record(filepath.Join(dir, ownerFile), os.Getpid())
}

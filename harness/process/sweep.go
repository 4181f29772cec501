package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownerFile marks a work directory and names the kbench process it belongs to.
const ownerFile = "owner"

// Sweep removes every work directory below root whose owner is gone, after
// killing the nodes that it left. It returns what it removed. Directories
// without an owner file are not kbench's and stay.
func Sweep(root string) (removed []string, err error) {
	owners, err := filepath.Glob(filepath.Join(root, "*", ownerFile))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, owner := range owners {
		if alive(owner) {
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
// and waits up to five seconds for its end.
func killRecorded(file string) error {
	if !alive(file) {
		return nil
	}
	pid, _, err := readPID(file)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	for deadline := time.Now().Add(5 * time.Second); alive(file); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not end after SIGKILL", pid)
		}
	}
	return nil
}

func writeOwner(dir string) error {
	return writePID(filepath.Join(dir, ownerFile), os.Getpid())
}

// writePID writes pid and the kernel's start time of that process: a pid
// alone may have been given to somebody else since.
func writePID(file string, pid int) error {
	start, _ := startTime(pid) // a child that is gone already has none
	return os.WriteFile(file, fmt.Appendf(nil, "%d %s\n", pid, start), 0o644)
}

func readPID(file string) (pid int, start string, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, "", err
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	pid, err = strconv.Atoi(first)
	if err != nil || pid <= 1 {
		return 0, "", fmt.Errorf("%s does not hold a pid", file)
	}
	return pid, rest, nil
}

// alive reports whether the process of the file still runs.
func alive(file string) bool {
	pid, start, err := readPID(file)
	if err != nil {
		return false
	}
	now, err := startTime(pid)
	return err == nil && now == start
}

// startTime reads field 22 of /proc/PID/stat (proc(5)); a zombie counts as gone.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" {
		return "", fmt.Errorf("process %d is gone", pid)
	}
	return fields[19], nil
}

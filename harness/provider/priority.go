package provider

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// niceness is what nodes run at. The generator and the probes run at 0, so
// that they keep time when nodes fill the machine; all nodes of all targets
// run at the same.
const niceness = 5

// StartNice starts cmd and lowers its priority. It does not matter to the
// node, and is no error, where the system does not allow it.
func StartNice(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	// Threads inherit the priority of the one that makes them. A thread born
	// while the first look goes on is found by the second.
	for range 2 {
		lower(cmd.Process.Pid)
	}
	return nil
}

func lower(pid int) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return
	}
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, niceness)
		}
	}
}

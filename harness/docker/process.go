package docker

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kbench/internal/trace"
)

// process is a container's first process as this host's kernel sees it. A nil
// process is one that cannot be seen: the engine is on another host, or in a
// virtual machine.
type process struct{ fd *os.File }

var errNotSeen = errors.New("the process is not this host's")

// openProcess takes hold of a process if it belongs to the container.
func openProcess(pid int, container string) *process {
	if pid <= 0 || container == "" {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	// Read after the process is held: its number cannot change hands between.
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !strings.Contains(string(groups), container) {
		_ = unix.Close(fd)
		return nil
	}
	return &process{os.NewFile(uintptr(fd), "pidfd")}
}

func (p *process) signal(sig syscall.Signal) error {
	if p == nil {
		return errNotSeen
	}
	rc, err := p.fd.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = rc.Control(func(fd uintptr) { serr = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	return errors.Join(err, serr)
}

// waitExit returns the moment at which the process was seen to have ended, 0 if
// it cannot be seen.
func (p *process) waitExit() int64 {
	if p == nil {
		return 0
	}
	rc, err := p.fd.SyscallConn()
	if err != nil {
		return 0
	}
	var at int64
	_ = rc.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		if err == nil && n > 0 {
			at = trace.Now()
		}
		return at != 0 || err != nil && err != unix.EINTR
	})
	return at
}

func (p *process) close() {
	if p != nil {
		_ = p.fd.Close()
	}
}

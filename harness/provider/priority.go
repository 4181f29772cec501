package provider

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness is what nodes run at. The generator and the probes run at 0, so
// that they keep time when nodes fill the machine; all nodes of all targets
// run at the same.
const niceness = 5

// StartNice starts cmd at the nodes' priority. A thread lowers its own and is
// given up after it has started the child, which inherits it: raising it again
// would need a privilege.
func StartNice(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
		started <- cmd.Start()
	}()
	return <-started
}

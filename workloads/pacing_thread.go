package workloads

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pacingSlice is the scheduling slice that a pacing thread asks for where it
// may not run in real time: the shorter it is, the sooner the thread runs when
// it wakes (Linux 6.12; older kernels ignore it).
const pacingSlice = 100_000 // ns, the least the kernel takes

// enterPacing binds the caller to a thread that the kernel runs as soon as it
// wakes, and gives the function that undoes it. A pacer works for microseconds
// and must do so on time, while the nodes that it measures fill the machine:
// as root its thread runs in real time, otherwise with the shortest slice. It
// takes what the kernel allows, and slips are counted either way.
func enterPacing() (leave func()) {
	runtime.LockOSThread()
	const thisThread = 0
	before, err := unix.SchedGetAttr(thisThread, 0)
	if err != nil {
		return runtime.UnlockOSThread
	}
	attr := unix.SchedAttr{
		Size: uint32(unsafe.Sizeof(unix.SchedAttr{})), Policy: unix.SCHED_FIFO, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, // threads and processes made meanwhile are ordinary
	}
	if unix.SchedSetAttr(thisThread, &attr, 0) != nil {
		attr.Policy, attr.Priority, attr.Nice, attr.Runtime = unix.SCHED_NORMAL, 0, before.Nice, pacingSlice
		_ = unix.SchedSetAttr(thisThread, &attr, 0) // an older kernel: as it was
	}
	return func() {
		_ = unix.SchedSetAttr(thisThread, before, 0) // always allowed: it lowers
		runtime.UnlockOSThread()
	}
}

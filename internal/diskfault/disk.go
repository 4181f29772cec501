package diskfault

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"kbench/internal/nodeconfig"
)

// Bite is one thing to tell: a fault met a write or an fsync for the first time,
// or after it the first one passed.
type Bite struct {
	Seq    int64 // of the fault that was set last
	Healed bool  // it passed
	Took   time.Duration
	What   string // fsync or write, and what came of it
}

// Disk is the layer. Use New.
type Disk struct {
	tell func(Bite)

	mu    sync.Mutex
	fault nodeconfig.DiskFault
	told  bool // of the fault, or of its end
}

// New makes a disk with nothing wrong. tell is called from whoever writes, before
// that goes on.
func New(tell func(Bite)) *Disk { return &Disk{tell: tell, told: true} }

// Set makes f all that is wrong.
func (d *Disk) Set(f nodeconfig.DiskFault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.told = f, false
}

func (d *Disk) now() nodeconfig.DiskFault {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

// told is said once for each Set. A fault that was taken back meanwhile has
// nothing to tell any more.
func (d *Disk) bite(f nodeconfig.DiskFault, b Bite) {
	d.mu.Lock()
	first := !d.told && d.fault == f
	if first {
		d.told = true
	}
	d.mu.Unlock()
	if first {
		b.Seq, b.Healed = f.Seq, !f.Wrong()
		d.tell(b)
	}
}

// Sync does an fsync.
func (d *Disk) Sync(do func() error) error {
	f := d.now()
	start := time.Now()
	if f.FsyncError {
		d.bite(f, Bite{What: "an fsync failed"})
		return fmt.Errorf("injected: %w", syscall.EIO)
	}
	if f.FsyncDelay > 0 {
		time.Sleep(f.FsyncDelay.D())
	}
	err := do()
	if f.FsyncDelay > 0 || !f.Wrong() {
		d.bite(f, Bite{What: "an fsync", Took: time.Since(start)})
	}
	return err
}

// Write does a write that needs room.
func (d *Disk) Write(do func() (int, error)) (int, error) {
	if f := d.now(); f.Full {
		d.bite(f, Bite{What: "a write failed"})
		return 0, fmt.Errorf("injected: %w", syscall.ENOSPC)
	}
	return do()
}

package diskfault

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
)

func TestDisk(t *testing.T) {
	var told []Bite
	d := New(func(b Bite) { told = append(told, b) })
	synced, wrote := 0, 0
	sync := func() error { synced++; return nil }
	write := func() (int, error) { wrote++; return 3, nil }
	last := func(n int, seq int64, healed bool) Bite {
		t.Helper()
		if len(told) != n || told[n-1].Seq != seq || told[n-1].Healed != healed {
			t.Fatalf("told %+v", told)
		}
		return told[n-1]
	}

	if err := d.Sync(sync); err != nil || synced != 1 || len(told) != 0 {
		t.Fatalf("nothing is wrong: %v, %d syncs, told %v", err, synced, told)
	}

	const delay = 20 * time.Millisecond
	d.Set(nodeconfig.DiskFault{Seq: 1, FsyncDelay: nodeconfig.Duration(delay)})
	for range 2 {
		start := time.Now()
		if err := d.Sync(sync); err != nil || time.Since(start) < delay {
			t.Fatalf("an fsync took %v: %v", time.Since(start), err)
		}
	}
	if b := last(1, 1, false); b.Took < delay {
		t.Errorf("told %+v", b)
	}
	if n, err := d.Write(write); n != 3 || err != nil {
		t.Errorf("a slow fsync meets a write: %d %v", n, err)
	}

	d.Set(nodeconfig.DiskFault{Seq: 2, FsyncError: true})
	if err := d.Sync(sync); !errors.Is(err, syscall.EIO) || synced != 3 {
		t.Errorf("got %v after %d syncs", err, synced)
	}
	last(2, 2, false)

	d.Set(nodeconfig.DiskFault{Seq: 3, Full: true})
	if n, err := d.Write(write); n != 0 || !errors.Is(err, syscall.ENOSPC) || wrote != 1 {
		t.Errorf("wrote %d: %v", n, err)
	}
	last(3, 3, false)
	if err := d.Sync(sync); err != nil || len(told) != 3 {
		t.Errorf("a full disk still syncs: %v, told %v", err, told)
	}

	d.Set(nodeconfig.DiskFault{Seq: 4})
	if _, err := d.Write(write); err != nil || len(told) != 3 {
		t.Errorf("%v, told %v", err, told)
	}
	if err := d.Sync(sync); err != nil {
		t.Error(err)
	}
	last(4, 4, true)
	_ = d.Sync(sync)
	last(4, 4, true)
}

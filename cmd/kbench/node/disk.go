package node

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"kbench/broker"
	"kbench/internal/diskfault"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/internal/zkserver/txnlog"
	"kbench/kraftcontroller/metalog"
)

// newDisk is the layer in which the node's configuration has faults injected;
// nil where it asks for none, so that files are met directly.
func (p *process) newDisk() (*diskfault.Disk, error) {
	if p.cfg.DiskFaults == "" {
		return nil, nil
	}
	d := diskfault.New(func(b diskfault.Bite) {
		kind := trace.DiskFault
		if b.Healed {
			kind = trace.DiskHealed
		}
		p.trace.Emit(trace.Event{Kind: kind, N: b.Seq, Detail: fmt.Sprintf("%s, %v", b.What, b.Took)})
	})
	f, err := nodeconfig.ReadDiskFault(p.cfg.DiskFaults)
	if err != nil {
		return nil, err
	}
	d.Set(f)
	p.dirs = newLogDirDisks(p.cfg.Brokers)
	p.dirs.set(f)
	return d, nil
}

// obeyDisk reads the faults anew at each SIGUSR1 until ctx ends.
func (p *process) obeyDisk(ctx context.Context) {
	if p.disk == nil {
		return
	}
	told := make(chan os.Signal, 8)
	signal.Notify(told, syscall.SIGUSR1)
	go func() {
		defer signal.Stop(told)
		for {
			select {
			case <-told:
				f, err := nodeconfig.ReadDiskFault(p.cfg.DiskFaults)
				if err != nil {
					p.log.Error("the disk stays as it is", "error", err)
					continue
				}
				p.disk.Set(f)
				p.dirs.set(f)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// logDirDisks are the layers under log directories by their number: one for the
// first of every broker, and so on. The brokers tell what they met.
type logDirDisks []*diskfault.Disk

func newLogDirDisks(brokers []nodeconfig.Broker) logDirDisks {
	var out logDirDisks
	for _, b := range brokers {
		for range len(b.LogDirs) - len(out) {
			out = append(out, diskfault.New(func(diskfault.Bite) {}))
		}
	}
	return out
}

func (l logDirDisks) set(f nodeconfig.DiskFault) {
	for i, d := range l {
		d.Set(nodeconfig.DiskFault{Seq: f.Seq, FsyncError: f.LogDir == i+1})
	}
}

// logDirs are a broker's log directories with the layers under them.
func (p *process) logDirs(b nodeconfig.Broker) []broker.LogDir {
	var out []broker.LogDir
	for i, dir := range b.LogDirs {
		d := broker.LogDir{Path: p.cfg.Path(dir)}
		if p.disk != nil {
			d.FS = metalogDisk{metalog.OS(), p.dirs[i]}
		}
		out = append(out, d)
	}
	return out
}

// metalogFS is the file layer of a controller's log; nil is the machine's.
func (p *process) metalogFS() metalog.FS {
	if p.disk == nil {
		return nil
	}
	return metalogDisk{metalog.OS(), p.disk}
}

type metalogDisk struct {
	metalog.FS
	disk *diskfault.Disk
}

// Open implements metalog.FS.
func (m metalogDisk) Open(name string) (metalog.File, error) {
	f, err := m.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return metalogFile{f, m.disk}, nil
}

// SyncDir implements metalog.FS.
func (m metalogDisk) SyncDir(dir string) error {
	return m.disk.Sync(func() error { return m.FS.SyncDir(dir) })
}

type metalogFile struct {
	metalog.File
	disk *diskfault.Disk
}

// WriteAt implements io.WriterAt.
func (f metalogFile) WriteAt(b []byte, at int64) (int, error) {
	return f.disk.Write(func() (int, error) { return f.File.WriteAt(b, at) })
}

// Sync implements metalog.File.
func (f metalogFile) Sync() error { return f.disk.Sync(f.File.Sync) }

// txnlogFS is the file layer of the embedded store; nil is the machine's.
func (p *process) txnlogFS() txnlog.FS {
	if p.disk == nil {
		return nil
	}
	return txnlogDisk{txnlog.OS(), p.disk}
}

type txnlogDisk struct {
	txnlog.FS
	disk *diskfault.Disk
}

// Create implements txnlog.FS.
func (t txnlogDisk) Create(name string) (txnlog.File, error) { return t.over(t.FS.Create(name)) }

// Append implements txnlog.FS.
func (t txnlogDisk) Append(name string, size int64) (txnlog.File, error) {
	return t.over(t.FS.Append(name, size))
}

func (t txnlogDisk) over(f txnlog.File, err error) (txnlog.File, error) {
	if err != nil {
		return nil, err
	}
	return txnlogFile{f, t.disk}, nil
}

// SyncDir implements txnlog.FS.
func (t txnlogDisk) SyncDir(dir string) error {
	return t.disk.Sync(func() error { return t.FS.SyncDir(dir) })
}

type txnlogFile struct {
	txnlog.File
	disk *diskfault.Disk
}

// Write implements io.Writer.
func (f txnlogFile) Write(b []byte) (int, error) {
	return f.disk.Write(func() (int, error) { return f.File.Write(b) })
}

// Sync implements txnlog.File.
func (f txnlogFile) Sync() error { return f.disk.Sync(f.File.Sync) }

package txnlog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
)

const (
	logPrefix      = "log."
	snapshotPrefix = "snapshot."
	tmpSuffix      = ".tmp"
)

// Recovery tells what Open found.
type Recovery struct {
	SnapshotZxid int64 // 0 without a snapshot
	Txns         int   // replayed from logs
	TornBytes    int64 // cut off the newest log
}

// Open recovers the state in dir, making dir if it is missing, and gives the
// log to append to.
func Open(fs FS, dir string) (*datatree.Tree, *Log, Recovery, error) {
	var rec Recovery
	fail := func(err error) (*datatree.Tree, *Log, Recovery, error) { return nil, nil, rec, err }
	if err := fs.MkdirAll(dir); err != nil {
		return fail(fmt.Errorf("make data directory: %w", err))
	}
	files, err := list(fs, dir)
	if err != nil {
		return fail(err)
	}
	tree, err := files.load(fs, dir)
	if err != nil {
		return fail(err)
	}
	rec.SnapshotZxid = tree.Zxid()
	log := &Log{fs: fs, dir: dir}
	for i, first := range files.logs {
		name := logName(dir, first)
		end, err := replay(fs, name, tree, &rec)
		last := i == len(files.logs)-1
		if err != nil && (!last || !errors.Is(err, errTorn)) {
			return fail(fmt.Errorf("replay %s: %w; the data directory is damaged: restore it, or remove it to start empty", name, err))
		}
		if last {
			if err := log.reopen(name, end); err != nil {
				return fail(err)
			}
		}
	}
	return tree, log, rec, nil
}

// reopen goes on with the newest log after its last whole record. A log cut
// short inside its magic never had a durable name and is removed.
func (l *Log) reopen(name string, end int64) error {
	if end < int64(len(logMagic)) {
		if err := l.fs.Remove(name); err != nil {
			return fmt.Errorf("remove empty log: %w", err)
		}
		return nil
	}
	f, err := l.fs.Append(name, end)
	if err != nil {
		return fmt.Errorf("go on with %s: %w", name, err)
	}
	if err := f.Sync(); err != nil {
		return closeAfter(f, fmt.Errorf("cut the torn tail of %s: %w", name, err))
	}
	l.file, l.name, l.size = f, name, end
	return nil
}

func logName(dir string, first int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%x", logPrefix, first))
}

func snapshotName(dir string, zxid int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%x", snapshotPrefix, zxid))
}

// files are the logs and snapshots of a directory by zxid, ascending.
type files struct{ logs, snapshots []int64 }

func list(fs FS, dir string) (files, error) {
	names, err := fs.List(dir)
	if err != nil {
		return files{}, fmt.Errorf("read data directory: %w", err)
	}
	var f files
	for _, n := range names {
		if strings.HasSuffix(n, tmpSuffix) {
			continue
		}
		if z, ok := zxidOf(n, logPrefix); ok {
			f.logs = append(f.logs, z)
		} else if z, ok := zxidOf(n, snapshotPrefix); ok {
			f.snapshots = append(f.snapshots, z)
		}
	}
	slices.Sort(f.logs)
	slices.Sort(f.snapshots)
	return f, nil
}

func zxidOf(name, prefix string) (int64, bool) {
	hex, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	z, err := strconv.ParseInt(hex, 16, 64)
	return z, err == nil
}

// load gives the newest snapshot's tree, or an empty one.
func (f files) load(fs FS, dir string) (*datatree.Tree, error) {
	if len(f.snapshots) == 0 {
		return datatree.New(), nil
	}
	name := snapshotName(dir, f.snapshots[len(f.snapshots)-1])
	tree, err := loadSnapshot(fs, name)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w; the data directory is damaged: restore it, or remove it to start empty", name, err)
	}
	return tree, nil
}

// replay applies a log's transactions that the tree does not hold yet and
// gives the end of the last whole record.
func replay(fs FS, name string, tree *datatree.Tree, rec *Recovery) (int64, error) {
	f, err := fs.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := newReader(f, logMagic)
	if err != nil {
		return 0, err
	}
	for {
		payload, err := r.next()
		if err == io.EOF {
			return r.good, nil
		}
		if err != nil {
			rec.TornBytes = remaining(fs, name) - r.good
			return r.good, err
		}
		txn, err := datatree.DecodeTxn(payload)
		if err != nil {
			return r.good, fmt.Errorf("transaction after zxid 0x%x: %w", tree.Zxid(), err)
		}
		if txn.Zxid <= tree.Zxid() {
			continue
		}
		if txn.Zxid != tree.Zxid()+1 {
			return r.good, fmt.Errorf("transaction 0x%x follows 0x%x: transactions are missing", txn.Zxid, tree.Zxid())
		}
		if res := tree.Apply(txn); res.Err != proto.OK {
			return r.good, fmt.Errorf("transaction 0x%x cannot be repeated: %w", txn.Zxid, res.Err)
		}
		rec.Txns++
	}
}

// remaining is the length of a file, for the report alone.
func remaining(fs FS, name string) int64 {
	f, err := fs.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	n, _ := io.Copy(io.Discard, f)
	return n
}

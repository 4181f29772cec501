package txnlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"kbench/internal/zkserver/datatree"
)

const snapshotMagic = "KBZKSNP1"

// Compact writes a snapshot of everything in the logs before the one that
// begins with transaction keepFrom, then removes those logs and older
// snapshots. It builds a tree of its own from the files, so the server goes on
// meanwhile; stop, polled between files, ends it early without harm.
func Compact(fs FS, dir string, keepFrom int64, stop func() bool) (zxid int64, err error) {
	have, err := list(fs, dir)
	if err != nil {
		return 0, err
	}
	tree, err := have.load(fs, dir)
	if err != nil {
		return 0, err
	}
	var rec Recovery
	for _, first := range have.logs {
		if first >= keepFrom || stop() {
			break
		}
		if _, err := replay(fs, logName(dir, first), tree, &rec); err != nil {
			return 0, fmt.Errorf("compact %s: %w", logName(dir, first), err)
		}
	}
	if rec.Txns == 0 || stop() {
		return 0, nil
	}
	if err := writeSnapshot(fs, dir, tree); err != nil {
		return 0, err
	}
	return tree.Zxid(), have.drop(fs, dir, tree.Zxid(), keepFrom)
}

// drop removes what the snapshot at zxid makes superfluous.
func (f files) drop(fs FS, dir string, zxid, keepFrom int64) error {
	for i, first := range f.logs {
		last := keepFrom - 1
		if i+1 < len(f.logs) {
			last = f.logs[i+1] - 1
		}
		if first < keepFrom && last <= zxid {
			if err := fs.Remove(logName(dir, first)); err != nil {
				return fmt.Errorf("remove old log: %w", err)
			}
		}
	}
	for _, z := range f.snapshots {
		if z < zxid {
			if err := fs.Remove(snapshotName(dir, z)); err != nil {
				return fmt.Errorf("remove old snapshot: %w", err)
			}
		}
	}
	return nil
}

func writeSnapshot(fs FS, dir string, tree *datatree.Tree) error {
	tmp := filepath.Join(dir, "snapshot"+tmpSuffix)
	f, err := fs.Create(tmp)
	if err != nil {
		return fmt.Errorf("create snapshot: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	_, err = w.WriteString(snapshotMagic)
	var buf []byte
	emit := func(rec []byte) error {
		b, start := BeginRecord(buf[:0])
		buf = EndRecord(append(b, rec...), start)
		_, err := w.Write(buf)
		return err
	}
	if err == nil {
		err = tree.Snapshot(emit)
	}
	if err == nil {
		err = emit(nil) // the end mark
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = closeBoth(err, f); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if err := fs.Rename(tmp, snapshotName(dir, tree.Zxid())); err != nil {
		return fmt.Errorf("name snapshot: %w", err)
	}
	return fs.SyncDir(dir)
}

func loadSnapshot(fs FS, name string) (*datatree.Tree, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := newReader(f, snapshotMagic)
	if err != nil {
		return nil, err
	}
	r.emptyEnds = true
	load := datatree.NewLoader()
	for {
		rec, err := r.next()
		if err == io.EOF {
			return nil, errors.New("end mark is missing")
		}
		if err != nil {
			return nil, err
		}
		if len(rec) == 0 {
			return load.Tree()
		}
		if err := load.Add(rec); err != nil {
			return nil, err
		}
	}
}

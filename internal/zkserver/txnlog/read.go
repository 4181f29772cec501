package txnlog

import (
	"errors"
	"fmt"
	"io"

	"kbench/internal/zkserver/datatree"
)

// ErrCompacted says that a directory no longer holds its first transactions.
var ErrCompacted = errors.New("the first transactions were compacted to a snapshot")

// Read gives every transaction of the logs in dir, in order, to yield, whose
// error ends it. The server may run meanwhile: what it has not written whole yet
// is left out. A Txn is yield's until the next one.
func Read(fs FS, dir string, yield func(*datatree.Txn) error) error {
	files, err := list(fs, dir)
	if err != nil {
		return err
	}
	if len(files.snapshots) > 0 && (len(files.logs) == 0 || files.logs[0] > 1) {
		return fmt.Errorf("read %s: %w", dir, ErrCompacted)
	}
	for i, first := range files.logs {
		if err := readLog(fs, logName(dir, first), yield); err != nil && (i < len(files.logs)-1 || !errors.Is(err, errTorn)) {
			return fmt.Errorf("read %s: %w", logName(dir, first), err)
		}
	}
	return nil
}

func readLog(fs FS, name string, yield func(*datatree.Txn) error) error {
	f, err := fs.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := newReader(f, logMagic)
	if err != nil {
		return err
	}
	for {
		payload, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		txn, err := datatree.DecodeTxn(payload)
		if err != nil {
			return err
		}
		if err := yield(txn); err != nil {
			return err
		}
	}
}

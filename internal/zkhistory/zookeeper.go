package zkhistory

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
)

const (
	logMagic      = "ZKLG"
	logHeader     = 16 // magic, version, database id
	maxTxnBytes   = 64 << 20
	readStep      = 256 << 10 // read at least, of a larger transaction
	endOfTxn      = 'B'
	opCreate      = 1
	opDelete      = 2
	opSetData     = 5
	opMulti       = 14
	opCreate2     = 15
	opCreateCont  = 19
	opDeleteCont  = 20
	opCreateTTL   = 21
	opCloseSess   = -11
	logFilePrefix = "log."
)

// ZooKeeper reads the log of a server of Apache ZooKeeper (FileTxnLog, of 3.4
// to 3.9), which may run, out of the version-2 directory under one of dataDirs:
// those of the members of an ensemble. It takes the member whose log begins
// first; one that joined late got a snapshot instead of the transactions before.
func ZooKeeper(dataDirs ...string) Source {
	return func(yield func(Change) error) error {
		files, err := earliest(dataDirs)
		if err != nil {
			return err
		}
		t := newTracker(yield)
		for _, name := range files {
			if err := readLog(name, t.apply); err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
		}
		return nil
	}
}

// earliest gives the log files of the member whose log begins first, in order.
func earliest(dataDirs []string) ([]string, error) {
	var best []string
	first := int64(-1)
	for _, dir := range dataDirs {
		files, begin, err := logFiles(filepath.Join(dir, "version-2"))
		if err != nil {
			return nil, err
		}
		if len(files) > 0 && (first < 0 || begin < first) {
			best, first = files, begin
		}
	}
	if len(best) == 0 {
		return nil, fmt.Errorf("no transaction log of ZooKeeper below %s", strings.Join(dataDirs, ", "))
	}
	return best, nil
}

func logFiles(dir string) (files []string, first int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	at := map[int64]string{}
	var zxids []int64
	for _, e := range entries {
		hex, ok := strings.CutPrefix(e.Name(), logFilePrefix)
		if !ok {
			continue
		}
		if z, err := strconv.ParseInt(hex, 16, 64); err == nil {
			at[z] = filepath.Join(dir, e.Name())
			zxids = append(zxids, z)
		}
	}
	slices.Sort(zxids)
	for _, z := range zxids {
		files = append(files, at[z])
	}
	if len(zxids) > 0 {
		first = zxids[0]
	}
	return files, first, nil
}

// readLog gives the transactions of one file.
func readLog(name string, yield func(*datatree.Txn) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return readTxns(f, yield)
}

// readTxns gives the transactions of a log; a tail that is not whole, or is the
// zeros that ZooKeeper allots ahead, ends it.
func readTxns(file io.Reader, yield func(*datatree.Txn) error) error {
	r := bufio.NewReaderSize(file, 256<<10)
	head := make([]byte, logHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil // begun a moment ago
	}
	if string(head[:4]) != logMagic {
		return errors.New("it does not begin as a transaction log of ZooKeeper")
	}
	for {
		b, err := nextTxn(r)
		if b == nil || err != nil {
			return err
		}
		x, err := decodeTxn(b)
		if err != nil {
			return err
		}
		if x != nil {
			if err := yield(x); err != nil {
				return err
			}
		}
	}
}

// nextTxn gives one record, nil at the end of what is written.
func nextTxn(r *bufio.Reader) ([]byte, error) {
	var head [12]byte // checksum and length
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, ended(err)
	}
	n := int32(binary.BigEndian.Uint32(head[8:]))
	if n <= 0 {
		return nil, nil
	}
	if n > maxTxnBytes {
		return nil, fmt.Errorf("a transaction of %d bytes: the file is damaged", n)
	}
	var b []byte
	for have, all := 0, int(n)+1; have < all; have = len(b) { // a damaged length must not cost its bytes
		next := min(all, max(2*have, readStep))
		b = slices.Grow(b, next-have)[:next]
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			return nil, ended(err)
		}
	}
	if b[n] != endOfTxn || uint64(adler32.Checksum(b[:n])) != binary.BigEndian.Uint64(head[:]) {
		return nil, nil // being written
	}
	return b[:n], nil
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// decodeTxn gives what a transaction did, nil for what changes no znode.
func decodeTxn(b []byte) (*datatree.Txn, error) {
	r := proto.NewReader(b)
	x := &datatree.Txn{Kind: datatree.Write, Session: r.Int64()}
	r.Int32() // cxid
	x.Zxid, x.TimeMs = r.Int64(), r.Int64()
	kind := r.Int32()
	switch kind {
	case opCloseSess:
		x.Kind = datatree.CloseSession
	case opMulti:
		n := int(r.Int32())
		for range n {
			part := r.Int32()
			if c, ok := decodeChange(part, proto.NewReader(r.Buffer())); ok {
				x.Changes = append(x.Changes, c)
			}
			if r.Err() != nil {
				break
			}
		}
	default:
		c, ok := decodeChange(kind, r)
		if !ok {
			return nil, r.Err()
		}
		x.Changes = append(x.Changes, c)
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("transaction 0x%x of type %d: %w", x.Zxid, kind, r.Err())
	}
	return x, nil
}

func decodeChange(kind int32, r *proto.Reader) (proto.Change, bool) {
	switch kind {
	case opCreate, opCreate2:
		c := proto.Change{Op: proto.OpCreate, Path: r.String(), Data: r.Buffer(), ACL: r.ACLs()}
		if r.Bool() {
			c.Flags = proto.Ephemeral
		}
		return c, true
	case opCreateCont, opCreateTTL:
		return proto.Change{Op: proto.OpCreate, Path: r.String(), Data: r.Buffer()}, true
	case opSetData:
		return proto.Change{Op: proto.OpSetData, Path: r.String(), Data: r.Buffer()}, true
	case opDelete, opDeleteCont:
		return proto.Change{Op: proto.OpDelete, Path: r.String()}, true
	}
	return proto.Change{}, false // sessions, errors, checks, access lists
}

package txnlog

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"kbench/internal/fuzzing"
	"kbench/internal/zkserver/datatree"
)

// allocationFactor bounds what a file of one byte more may take: the smallest
// change takes 12 bytes there, and a znode some 300 with its place in the tree.
const allocationFactor = 256

// mended is a copy of a file whose records have the checksums of their bytes.
func mended(b []byte, magic string) []byte {
	b = slices.Clone(b)
	for at := len(magic); at+headBytes <= len(b); {
		size := int64(binary.BigEndian.Uint32(b[at:]))
		from := at + headBytes
		if size > int64(len(b)-from) {
			break
		}
		binary.BigEndian.PutUint32(b[at+4:], crc32.Checksum(b[from:from+int(size)], castagnoli))
		at = from + int(size)
	}
	return b
}

// FuzzOpen gives a log arbitrary bytes: an error or a tree, never a panic, and
// memory bounded by the file.
func FuzzOpen(f *testing.F) {
	h := newHistory(6)
	good := []byte(logMagic)
	for range 5 {
		good = h.next(good)
	}
	f.Add(good)
	f.Add([]byte(logMagic + "\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte(logMagic + "\x03\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, mended(b, logMagic)} {
			fs := NewMemFS()
			w, _ := fs.Create(dir + "/log.1")
			_, _ = w.Write(b)
			fuzzing.Within(t, len(b), allocationFactor, func() {
				_, log, _, err := Open(fs, dir)
				if err == nil {
					_ = log.Close()
				}
				_ = Read(fs, dir, func(*datatree.Txn) error { return nil })
			})
		}
	})
}

// FuzzLoadSnapshot: the same of a snapshot's file.
func FuzzLoadSnapshot(f *testing.F) {
	h := newHistory(6)
	for range 5 {
		h.next(nil)
	}
	fs := NewMemFS()
	if err := writeSnapshot(fs, dir, h.tree); err != nil {
		f.Fatal(err)
	}
	file, err := fs.Open(snapshotName(dir, h.tree.Zxid()))
	if err != nil {
		f.Fatal(err)
	}
	good, err := io.ReadAll(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(snapshotMagic + "\x03\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, mended(b, snapshotMagic)} {
			fs := NewMemFS()
			w, _ := fs.Create(snapshotName(dir, 7))
			_, _ = w.Write(b)
			fuzzing.Within(t, len(b), allocationFactor, func() {
				if tree, err := loadSnapshot(fs, snapshotName(dir, 7)); err == nil {
					tree.Digest()
				}
			})
		}
	})
}

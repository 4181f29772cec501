package txnlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
)

const dir = "data"

// history makes transactions that depend on one another, so that a lost or
// repeated one shows.
type history struct {
	rng  *rand.Rand
	tree *datatree.Tree
}

func newHistory(seed uint64) *history {
	return &history{rng: rand.New(rand.NewPCG(seed, 1)), tree: datatree.New()}
}

var acl = []proto.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

// next applies a random transaction that succeeds and gives its record.
func (h *history) next(b []byte) []byte {
	for {
		x := &datatree.Txn{Zxid: h.tree.Zxid() + 1, TimeMs: int64(h.rng.IntN(1e6)), Kind: datatree.Write}
		path := fmt.Sprintf("/n%d", h.rng.IntN(20))
		switch h.rng.IntN(6) {
		case 0:
			x.Kind, x.Session, x.TimeoutMs = datatree.OpenSession, x.Zxid, 1000
		case 1:
			x.Kind, x.Session = datatree.CloseSession, h.anySession()
		case 2:
			x.Session = h.anySession()
			x.Changes = []proto.Change{{Op: proto.OpCreate, Path: path + "e", ACL: acl, Flags: proto.EphemeralSequential}}
		case 3:
			x.Changes = []proto.Change{{Op: proto.OpSetData, Path: path, Data: []byte(fmt.Sprint(x.Zxid)), Version: -1}}
		case 4:
			x.Changes = []proto.Change{{Op: proto.OpDelete, Path: path, Version: -1}}
		default:
			x.Changes = []proto.Change{
				{Op: proto.OpCreate, Path: path, Data: []byte("x"), ACL: acl},
				{Op: proto.OpCreate2, Path: path + "/k", ACL: acl, Flags: proto.PersistentSequential},
				{Op: proto.OpDelete, Path: path + "/k0000000000", Version: 0},
			}
		}
		if h.tree.Apply(x).Err == proto.OK {
			b, at := BeginRecord(b)
			return EndRecord(x.Append(b), at)
		}
	}
}

func (h *history) anySession() int64 {
	if ids := h.tree.SessionIDs(); len(ids) > 0 {
		return ids[h.rng.IntN(len(ids))]
	}
	return 0
}

func mustOpen(t *testing.T, fs FS) (*datatree.Tree, *Log, Recovery) {
	t.Helper()
	tree, log, rec, err := Open(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree, log, rec
}

// TestCrashKeepsWhatWasSynced crashes at random points, with none, some or all
// of the unsynced bytes kept, whole or garbled, with rolls and compactions in
// between: what comes back is a prefix that holds everything synced.
func TestCrashKeepsWhatWasSynced(t *testing.T) {
	for seed := range uint64(300) {
		h, fs := newHistory(seed), NewMemFS()
		digests := map[int64]uint64{0: h.tree.Digest()}
		_, log, _ := mustOpen(t, fs)
		synced, compactions := int64(0), 0
		for range 60 {
			var b []byte
			first := h.tree.Zxid() + 1
			for range 1 + h.rng.IntN(4) {
				b = h.next(b)
				digests[h.tree.Zxid()] = h.tree.Digest()
			}
			must(t, log.Append(b, first))
			if h.rng.IntN(3) > 0 {
				must(t, log.Sync())
				synced = h.tree.Zxid()
			}
			if h.rng.IntN(8) == 0 {
				must(t, log.Roll())
				synced = h.tree.Zxid()
				if _, err := Compact(fs, dir, synced+1, func() bool { return false }); err != nil {
					t.Fatal(err)
				}
				compactions++
			}
			if h.rng.IntN(8) > 0 {
				continue
			}
			garble := h.rng.IntN(2) == 0
			fs = fs.Crash(func(n int) int { return h.rng.IntN(n + 1) }, garble)
			tree, l, _ := mustOpen(t, fs)
			if tree.Zxid() < synced || tree.Digest() != digests[tree.Zxid()] {
				t.Fatalf("seed %d: recovered zxid %d, synced %d, digest equal %v", seed, tree.Zxid(), synced, tree.Digest() == digests[tree.Zxid()])
			}
			h.tree, log, synced = tree, l, tree.Zxid()
		}
		if seed == 0 && compactions == 0 {
			t.Fatal("no compaction in seed 0: the test has lost its reach")
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTornTailIsCutAndReported(t *testing.T) {
	for _, tail := range []string{"\x00", strings.Repeat("\x00", 100), "\x00\x00\x00\x10abcdefgh", strings.Repeat("\xff", 50)} {
		h, fs := newHistory(1), NewMemFS()
		_, log, _ := mustOpen(t, fs)
		must(t, log.Append(h.next(nil), 1))
		must(t, log.Append([]byte(tail), 0))
		must(t, log.Close())
		tree, log, rec := mustOpen(t, fs)
		if tree.Digest() != h.tree.Digest() || rec.TornBytes != int64(len(tail)) {
			t.Fatalf("tail %q: torn %d, equal %v", tail, rec.TornBytes, tree.Digest() == h.tree.Digest())
		}
		must(t, log.Append(h.next(nil), 2))
		must(t, log.Close())
		if tree, _, rec := mustOpen(t, fs); tree.Digest() != h.tree.Digest() || rec.TornBytes != 0 {
			t.Fatalf("tail %q: what follows the cut is lost", tail)
		}
	}
}

func TestDamageOutsideTheTailStopsTheStart(t *testing.T) {
	build := func() (*MemFS, *history) {
		h, fs := newHistory(2), NewMemFS()
		_, log, _ := mustOpen(t, fs)
		for i := range 3 {
			must(t, log.Append(h.next(nil), int64(i+1)))
			must(t, log.Roll())
		}
		return fs, h
	}
	fs, _ := build()
	fs.Corrupt(dir+"/log.1", 30)
	if _, _, _, err := Open(fs, dir); err == nil || !strings.Contains(err.Error(), "log.1") || !strings.Contains(err.Error(), "remove it to start empty") {
		t.Errorf("damaged old log: %v", err)
	}
	fs, _ = build()
	must(t, fs.Remove(dir+"/log.2"))
	if _, _, _, err := Open(fs, dir); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("missing log: %v", err)
	}
	fs, _ = build()
	if _, err := Compact(fs, dir, 4, func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	fs.Corrupt(dir+"/snapshot.3", 60)
	if _, _, _, err := Open(fs, dir); err == nil || !strings.Contains(err.Error(), "snapshot.3") {
		t.Errorf("damaged snapshot: %v", err)
	}
	fs, _ = build()
	fs.Corrupt(dir+"/log.3", 3)
	if _, _, _, err := Open(fs, dir); err == nil || !strings.Contains(err.Error(), "another program or version") {
		t.Errorf("foreign magic: %v", err)
	}
}

func TestCompactionDropsWhatItHolds(t *testing.T) {
	h, fs := newHistory(3), NewMemFS()
	_, log, _ := mustOpen(t, fs)
	for range 5 {
		for range 10 {
			must(t, log.Append(h.next(nil), h.tree.Zxid()))
		}
		must(t, log.Roll())
		keep := h.tree.Zxid() + 1
		if z, err := Compact(fs, dir, keep, func() bool { return false }); err != nil || z != keep-1 {
			t.Fatalf("compact: zxid %d, %v", z, err)
		}
		names, _ := fs.List(dir)
		if len(names) != 1 {
			t.Fatalf("files left: %v", names)
		}
	}
	if tree, _, rec := mustOpen(t, fs); tree.Digest() != h.tree.Digest() || rec.Txns != 0 || rec.SnapshotZxid != h.tree.Zxid() {
		t.Fatalf("recovered %+v", rec)
	}
}

func TestBrokenLogStaysBroken(t *testing.T) {
	boom := errors.New("input/output error")
	for _, part := range []string{"write", "sync"} {
		h, fs := newHistory(4), NewMemFS()
		_, log, _ := mustOpen(t, fs)
		must(t, log.Append(h.next(nil), 1))
		must(t, log.Sync())
		fail := func(string) error { return boom }
		if part == "write" {
			fs.FailWrite = fail
		} else {
			fs.FailSync = fail
		}
		err := errors.Join(log.Append(h.next(nil), 2), log.Sync())
		if !errors.Is(err, boom) {
			t.Fatalf("%s: %v", part, err)
		}
		fs.FailWrite, fs.FailSync = nil, nil
		if err := log.Append(nil, 3); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: append after the fault: %v", part, err)
		}
		if err := log.Sync(); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: sync after the fault: %v", part, err)
		}
		must(t, log.Close())
		if tree, _, _ := mustOpen(t, fs); tree.Zxid() < 1 {
			t.Errorf("%s: the synced transaction is lost", part)
		}
	}
}

func TestOSFiles(t *testing.T) {
	h, d := newHistory(5), t.TempDir()+"/deep/er"
	tree, log, _, err := Open(OS(), d)
	must(t, err)
	_ = tree
	for i := range 20 {
		must(t, log.Append(h.next(nil), h.tree.Zxid()))
		if i == 10 {
			must(t, log.Roll())
			if _, err := Compact(OS(), d, h.tree.Zxid()+1, func() bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
	}
	must(t, log.Append([]byte{0, 0, 0, 9, 1}, 0))
	must(t, log.Close())
	got, log, rec, err := Open(OS(), d)
	must(t, err)
	if got.Digest() != h.tree.Digest() || rec.TornBytes != 5 {
		t.Fatalf("recovered %+v, equal %v", rec, got.Digest() == h.tree.Digest())
	}
	must(t, log.Close())
}

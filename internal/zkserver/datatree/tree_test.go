package datatree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"kbench/internal/fuzzing"
	"kbench/internal/zkserver/proto"
)

var acl = []proto.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

func create(path string, flags int32) proto.Change {
	return proto.Change{Op: proto.OpCreate2, Path: path, ACL: acl, Flags: flags, TTLMs: 10}
}

func apply(t *Tree, session int64, c ...proto.Change) *Result {
	return t.Apply(&Txn{Zxid: t.zxid + 1, TimeMs: 7, Kind: Write, Session: session, Changes: c})
}

func open(t *Tree, id int64) {
	t.Apply(&Txn{Zxid: t.zxid + 1, Kind: OpenSession, Session: id, TimeoutMs: 1000})
}

// TestCodes has one line for each rule of ZooKeeper's request checks.
func TestCodes(t *testing.T) {
	set := func(path string, v int32) proto.Change {
		return proto.Change{Op: proto.OpSetData, Path: path, Version: v}
	}
	del := func(path string, v int32) proto.Change {
		return proto.Change{Op: proto.OpDelete, Path: path, Version: v}
	}
	check := func(path string, v int32) proto.Change {
		return proto.Change{Op: proto.OpCheck, Path: path, Version: v}
	}
	for _, c := range []struct {
		name string
		c    proto.Change
		want proto.Code
	}{
		{"create", create("/b", 0), proto.OK},
		{"create again", create("/a", 0), proto.NodeExists},
		{"create root", create("/", 0), proto.NodeExists},
		{"create without parent", create("/x/y", 0), proto.NoNode},
		{"create under ephemeral", create("/e/x", 0), proto.NoChildrenForEphemerals},
		{"create ephemeral", create("/e2", proto.Ephemeral), proto.OK},
		{"create unknown mode", create("/b", 9), proto.BadArguments},
		{"create relative", create("b", 0), proto.BadArguments},
		{"create empty", create("", 0), proto.BadArguments},
		{"create with slash", create("/a/", 0), proto.BadArguments},
		{"create with double slash", create("/a//b", 0), proto.NoNode},
		{"create dot", create("/a/.", 0), proto.BadArguments},
		{"create below dot", create("/a/./b", 0), proto.NoNode},
		{"create dotdot", create("/a/..", 0), proto.BadArguments},
		{"create dots in name", create("/...", 0), proto.OK},
		{"create control char", create("/b\x01", 0), proto.BadArguments},
		{"create nul", create("/b\x00", 0), proto.BadArguments},
		{"create sequential by slash", create("/a/", proto.PersistentSequential), proto.OK},
		{"create without acl", proto.Change{Op: proto.OpCreate, Path: "/b"}, proto.InvalidACL},
		{"create ttl", create("/b", proto.PersistentTTL), proto.OK},
		{"create ttl 0", proto.Change{Op: proto.OpCreateTTL, Path: "/b", ACL: acl, Flags: proto.PersistentTTL}, proto.BadArguments},
		{"set", set("/a", 0), proto.OK},
		{"set any", set("/a", -1), proto.OK},
		{"set wrong version", set("/a", 1), proto.BadVersion},
		{"set missing", set("/x", -1), proto.NoNode},
		{"set root", set("/", -1), proto.OK},
		{"delete", del("/a/k", 0), proto.OK},
		{"delete wrong version", del("/a/k", 3), proto.BadVersion},
		{"delete not empty", del("/a", -1), proto.NotEmpty},
		{"delete missing", del("/x", -1), proto.NoNode},
		{"delete root", del("/", -1), proto.BadArguments},
		{"delete relative", del("a", -1), proto.BadArguments},
		{"delete reserved", del("/zookeeper", -1), proto.BadArguments},
		{"check", check("/a", 0), proto.OK},
		{"check any", check("/a", -1), proto.OK},
		{"check wrong version", check("/a", 5), proto.BadVersion},
		{"check missing", check("/x", -1), proto.NoNode},
		{"set acl", proto.Change{Op: proto.OpSetACL, Path: "/a", ACL: acl, Version: 0}, proto.OK},
		{"set acl wrong version", proto.Change{Op: proto.OpSetACL, Path: "/a", ACL: acl, Version: 2}, proto.BadVersion},
		{"set acl empty", proto.Change{Op: proto.OpSetACL, Path: "/a", Version: 0}, proto.InvalidACL},
		{"unknown", proto.Change{Op: 77, Path: "/a"}, proto.Unimplemented},
	} {
		tr := New()
		open(tr, 5)
		apply(tr, 5, create("/a", 0), create("/a/k", 0), create("/e", proto.Ephemeral))
		if got := apply(tr, 5, c.c).Err; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	tr := New()
	if got := apply(tr, 99, create("/e", proto.Ephemeral)).Err; got != proto.SessionExpired {
		t.Errorf("ephemeral of no session: %v", got)
	}
}

func TestStats(t *testing.T) {
	tr := New()
	open(tr, 5)                                                                                  // 1
	apply(tr, 5, create("/a", 0))                                                                // 2
	apply(tr, 5, create("/a/x", 1))                                                              // 3
	apply(tr, 5, create("/a/s", 2))                                                              // 4
	apply(tr, 5, proto.Change{Op: proto.OpSetData, Path: "/a", Data: []byte("abc"), Version: 0}) // 5
	apply(tr, 5, proto.Change{Op: proto.OpDelete, Path: "/a/x", Version: -1})                    // 6
	v, _ := tr.Get("/a")
	want := proto.Stat{
		Czxid: 2, Mzxid: 5, Pzxid: 6, CtimeMs: 7, MtimeMs: 7, Version: 1, Cversion: 3, DataLength: 3, NumChildren: 1,
	}
	if got := v.Stat(); got != want {
		t.Errorf("stat %+v, want %+v", got, want)
	}
	// The number of a sequential child counts creations, not changes.
	res := apply(tr, 5, create("/a/s", 2))
	if got := res.Ops[0].Path; got != "/a/s0000000002" {
		t.Errorf("sequential name %s", got)
	}
}

func TestCloseSessionDeletesItsEphemeralsAtOneZxid(t *testing.T) {
	tr := New()
	open(tr, 5)
	open(tr, 6)
	apply(tr, 5, create("/p", 0))
	apply(tr, 5, create("/p/b", 1), create("/p/a", 1))
	apply(tr, 6, create("/p/c", 1))
	res := tr.Apply(&Txn{Zxid: tr.zxid + 1, Kind: CloseSession, Session: 5})
	want := []Event{
		{proto.NodeDeleted, "/p/a"},
		{proto.NodeChildrenChanged, "/p"},
		{proto.NodeDeleted, "/p/b"},
		{proto.NodeChildrenChanged, "/p"},
	}
	if !slices.Equal(res.Events, want) {
		t.Errorf("events %v, want %v", res.Events, want)
	}
	v, _ := tr.Get("/p")
	if s := v.Stat(); s.NumChildren != 1 || s.Pzxid != tr.zxid || s.Cversion != 5 {
		t.Errorf("parent %+v", s)
	}
	if res := tr.Apply(&Txn{Zxid: tr.zxid + 1, Kind: CloseSession, Session: 5}); res.Err != proto.SessionExpired {
		t.Errorf("closed twice: %v", res.Err)
	}
}

func TestMultiResultsOfAFailure(t *testing.T) {
	tr := New()
	res := apply(tr, 0, create("/a", 0), create("/a", 0), create("/b", 0))
	var got []proto.Code
	for _, r := range res.Ops {
		got = append(got, r.Err)
	}
	want := []proto.Code{proto.OK, proto.NodeExists, proto.RuntimeInconsistency}
	if !slices.Equal(got, want) || res.Err != proto.NodeExists || len(res.Events) != 0 {
		t.Errorf("results %v, error %v, events %v", got, res.Err, res.Events)
	}
}

// random makes a multi that often fails at its end.
func random(rng *rand.Rand) []proto.Change {
	out := make([]proto.Change, 1+rng.IntN(5))
	for i := range out {
		path := fmt.Sprintf("/%d", rng.IntN(15))
		if rng.IntN(2) == 0 {
			path += fmt.Sprintf("/%d", rng.IntN(15))
		}
		flags := []int32{0, 0, 0, 1, 2, 3, 4, 5}[rng.IntN(8)]
		switch rng.IntN(6) {
		case 0, 1, 2:
			out[i] = create(path, flags)
		case 3:
			out[i] = proto.Change{Op: proto.OpDelete, Path: path, Version: -1}
		case 4:
			out[i] = proto.Change{Op: proto.OpSetData, Path: path, Data: []byte(path), Version: -1}
		default:
			out[i] = proto.Change{Op: proto.OpSetACL, Path: path, ACL: []proto.ACL{{Perms: rng.Int32N(3), Scheme: "world", ID: "anyone"}}, Version: -1}
		}
	}
	return out
}

// order is the whole tree in the order readers see it, which a snapshot keeps.
func order(t *Tree) string {
	var b strings.Builder
	_ = t.Snapshot(func(rec []byte) error {
		if rec[0] == recNode {
			// The number of the access list, the last four bytes, depends on
			// failed requests too; the digest compares the lists themselves.
			fmt.Fprintf(&b, "%x\n", rec[:len(rec)-4])
		}
		return nil
	})
	return b.String()
}

// TestFailedMultiLeavesNoTrace and the replay of what succeeded, through the
// log's codec and through a snapshot at a random place, give equal trees.
func TestFailedMultiLeavesNoTrace(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		live, replayed := New(), New()
		failed := 0
		step := func(x *Txn) {
			before, digest, nodes := order(live), live.Digest(), live.Nodes()
			rec := x.Append(nil)
			if live.Apply(x).Err != proto.OK {
				failed++
				if order(live) != before || live.Digest() != digest || live.Nodes() != nodes {
					t.Fatalf("seed %d: failed %+v left a trace", seed, x)
				}
				return
			}
			y, err := DecodeTxn(rec)
			if err != nil {
				t.Fatal(err)
			}
			if res := replayed.Apply(y); res.Err != proto.OK {
				t.Fatalf("seed %d: replay of zxid %d: %v", seed, y.Zxid, res.Err)
			}
			if rng.IntN(20) == 0 {
				replayed = reload(t, replayed)
			}
		}
		for range 100 {
			x := &Txn{Zxid: live.zxid + 1, TimeMs: int64(rng.IntN(100)), Kind: Write, Session: int64(1 + rng.IntN(3)), Changes: random(rng)}
			switch rng.IntN(10) {
			case 0:
				x.Kind, x.Changes = OpenSession, nil
				if _, _, ok := live.Session(x.Session); ok {
					x.Kind = CloseSession
				}
			case 1:
				x.Kind, x.Changes = CloseSession, nil
			}
			step(x)
		}
		if live.Digest() != replayed.Digest() || order(live) != order(replayed) || live.DataBytes() != replayed.DataBytes() {
			t.Fatalf("seed %d: replay differs", seed)
		}
		if failed < 10 || failed > 95 {
			t.Fatalf("seed %d: %d of 100 failed: the test has lost its reach", seed, failed)
		}
	}
}

func reload(t testing.TB, tr *Tree) *Tree {
	t.Helper()
	l := NewLoader()
	if err := tr.Snapshot(func(rec []byte) error { return l.Add(bytes.Clone(rec)) }); err != nil {
		t.Fatal(err)
	}
	out, err := l.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDueContainersAndTTL(t *testing.T) {
	tr := New()
	apply(tr, 0, create("/c", proto.Container), create("/c/k", 0), create("/new", proto.Container))
	apply(tr, 0, create("/ttl", proto.PersistentTTL))
	if due := tr.Due(17); !slices.Equal(due, []string{"/ttl"}) {
		t.Errorf("due %v", due)
	}
	apply(tr, 0, proto.Change{Op: proto.OpDelete, Path: "/c/k", Version: -1})
	if due := tr.Due(16); !slices.Equal(due, []string{"/c"}) {
		t.Errorf("due %v", due)
	}
	if due := reload(t, tr).Due(17); !slices.Equal(due, []string{"/c", "/ttl"}) {
		t.Errorf("due after a snapshot %v", due)
	}
}

func TestWatches(t *testing.T) {
	w := NewWatches()
	w.AddData(1, "/a")
	w.AddData(1, "/a")
	w.AddData(2, "/a")
	w.AddChild(1, "/a")
	w.AddChild(3, "/a")
	fire := func(e proto.EventType) (told []ConnID) {
		w.Fire(Event{e, "/a"}, func(c ConnID) { told = append(told, c) })
		return told
	}
	if got := fire(proto.NodeDeleted); !slices.Equal(got, []ConnID{1, 2, 3}) {
		t.Errorf("deleted: told %v", got)
	}
	if got := fire(proto.NodeDeleted); got != nil || w.Len() != 0 {
		t.Errorf("watches are not one-shot: %v, %d left", got, w.Len())
	}
	w.AddData(1, "/a")
	w.AddChild(2, "/a")
	if got := fire(proto.NodeChildrenChanged); !slices.Equal(got, []ConnID{2}) {
		t.Errorf("children: told %v", got)
	}
	w.Drop(1)
	if got := fire(proto.NodeDataChanged); got != nil || w.Len() != 0 {
		t.Errorf("dropped connection: told %v, %d left", got, w.Len())
	}
}

func TestZnodeSize(t *testing.T) {
	if size := unsafe.Sizeof(znode{}); size > 112 {
		t.Errorf("a znode takes %d bytes; 112 is a size class, a million of them is the aim", size)
	}
}

func FuzzLoader(f *testing.F) {
	tr := New()
	open(tr, 5)
	apply(tr, 5, create("/a", 0), create("/a/b", 1))
	var all []byte
	_ = tr.Snapshot(func(rec []byte) error {
		all = append(proto.AppendBuffer(all, rec), 0)
		return nil
	})
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzing.Within(t, len(b), 256, func() {
			l, r := NewLoader(), proto.NewReader(b)
			for r.Remaining() > 0 && r.Err() == nil {
				if l.Add(r.Buffer()) != nil {
					return
				}
				r.Bool()
			}
			if tr, err := l.Tree(); err == nil {
				tr.Digest()
			}
		})
	})
}

func FuzzDecodeTxn(f *testing.F) {
	f.Add((&Txn{Zxid: 1, Kind: Write, Changes: []proto.Change{create("/a", 0)}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzing.Within(t, len(b), 256, func() {
			if x, err := DecodeTxn(b); err == nil {
				New().Apply(x)
			}
		})
	})
}

// BenchmarkMemory shows the live bytes that a znode of Kafka's layout takes: a
// partition has two, one with its state.
func BenchmarkMemory(b *testing.B) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	tr := New()
	apply(tr, 0, create("/t", 0))
	state := []byte(`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`)
	n := 0
	for b.Loop() {
		topic := fmt.Sprintf("/t/topic-%d", n/100)
		if n%100 == 0 {
			apply(tr, 0, create(topic, 0), create(topic+"/partitions", 0))
		}
		p := fmt.Sprintf("%s/partitions/%d", topic, n%100)
		c := create(p+"/state", 0)
		c.Data = state
		apply(tr, 0, create(p, 0), c)
		n++
	}
	b.ReportMetric((heap()-before)/float64(tr.Nodes()), "B/znode")
}

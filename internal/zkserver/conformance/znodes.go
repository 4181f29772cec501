package conformance

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"kbench/internal/zkserver/proto"
)

// sequential names count the creations under the parent, other children and
// deleted ones included.
func sequential(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	create := func(name string, flags int32) string {
		return must[string](t)(c.Create(r+name, nil, flags, open))
	}
	for i, got := range []string{
		create("/a-", zk.FlagSequence), create("/a-", zk.FlagSequence), create("/plain", 0)[:0] + create("/b-", zk.FlagEphemeralSequential),
	} {
		want := fmt.Sprintf("%s/%s%010d", r, []string{"a-", "a-", "b-"}[i], []int{0, 1, 3}[i])
		if got != want {
			t.Errorf("name %d: %s, want %s", i, got, want)
		}
	}
	if err := c.Delete(r+"/plain", -1); err != nil {
		t.Fatal(err)
	}
	if got, want := create("/", zk.FlagSequence), r+"/0000000004"; got != want {
		t.Errorf("after a deletion: %s, want %s", got, want)
	}
}

func versions(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	stat := must[*zk.Stat](t)(c.Set(r, []byte("one"), 0))
	if stat.Version != 1 {
		t.Errorf("version after set: %d", stat.Version)
	}
	for _, v := range []int32{0, 2, -2} {
		if _, err := c.Set(r, nil, v); err != zk.ErrBadVersion {
			t.Errorf("set with version %d: %v", v, err)
		}
		if err := c.Delete(r, v); err != zk.ErrBadVersion {
			t.Errorf("delete with version %d: %v", v, err)
		}
	}
	must[*zk.Stat](t)(c.Set(r, []byte("two"), -1))
	if data, stat, err := c.Get(r); err != nil || string(data) != "two" || stat.Version != 2 {
		t.Errorf("%q %+v %v", data, stat, err)
	}
	if err := c.Delete(r, 2); err != nil {
		t.Error(err)
	}
	if _, err := c.Set(r, nil, 2); err != zk.ErrNoNode {
		t.Errorf("set after delete: %v", err)
	}
	must[string](t)(c.Create(r, nil, 0, open))
	if _, stat, _ := c.Get(r); stat.Version != 0 {
		t.Errorf("version of a znode made again: %d", stat.Version)
	}
}

// stats: every field after every kind of change, and the zxids' order.
func stats(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	get := func() proto.Stat {
		m := raw.Do(t, proto.OpExists, PathWatch(r, false))
		return ReadStat(m.Body)
	}
	made := get()
	if made.Czxid != made.Mzxid || made.Czxid != made.Pzxid || made.CtimeMs != made.MtimeMs || made.CtimeMs == 0 || made.DataLength != 4 {
		t.Errorf("new: %+v", made)
	}
	m := raw.Do(t, proto.OpSetData, SetData(r, []byte("longer data"), 0))
	inReply := ReadStat(m.Body)
	if inReply != get() || inReply.Mzxid != m.Zxid || inReply.Mzxid <= made.Mzxid || inReply.Czxid != made.Czxid || inReply.Pzxid != made.Pzxid || inReply.DataLength != 11 || inReply.Version != 1 {
		t.Errorf("set: reply %+v zxid %d, read %+v", inReply, m.Zxid, get())
	}
	create := raw.Do(t, proto.OpCreate, Create(r+"/k", nil, 0))
	two := get()
	if two.Cversion != 1 || two.NumChildren != 1 || two.Pzxid != create.Zxid || two.Mzxid != inReply.Mzxid || two.Version != 1 {
		t.Errorf("child created: %+v", two)
	}
	raw.Do(t, proto.OpSetData, SetData(r+"/k", []byte("x"), 0))
	if get() != two {
		t.Errorf("child changed: %+v, want %+v", get(), two)
	}
	del := raw.Do(t, proto.OpDelete, PathVersion(r+"/k", 1))
	three := get()
	if three.Cversion != 2 || three.NumChildren != 0 || three.Pzxid != del.Zxid {
		t.Errorf("child deleted: %+v", three)
	}
	// The czxid is what Kafka takes for a broker's epoch: a later creation has
	// a larger one.
	again := raw.Do(t, proto.OpCreate, Create(r+"/k", nil, proto.Ephemeral))
	st := ReadStat(raw.Do(t, proto.OpExists, PathWatch(r+"/k", false)).Body)
	if st.Czxid != again.Zxid || st.Czxid <= create.Zxid || st.EphemeralOwner != raw.Session {
		t.Errorf("made again: %+v", st)
	}
}

func nullData(t *testing.T, s Store) {
	r := root(t, client(t, s))
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	for _, c := range []struct {
		name string
		data []byte
	}{{"null", nil}, {"empty", []byte{}}, {"full", []byte("x")}} {
		raw.Do(t, proto.OpCreate, Create(r+"/"+c.name, c.data, 0))
		m := raw.Do(t, proto.OpGetData, PathWatch(r+"/"+c.name, false))
		got := m.Body.Buffer()
		if m.Code != proto.OK || string(got) != string(c.data) || (got == nil) != (c.data == nil) {
			t.Errorf("%s: read %#v, code %v", c.name, got, m.Code)
		}
	}
}

func pathRules(t *testing.T, s Store) {
	r := root(t, client(t, s))
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	for _, path := range []string{"", "x", r + "/", r + "/.", r + "/..", r + "/\x00", r + "/\x1f", r + "/\u0085", r + "/\uf8ff"} {
		if m := raw.Do(t, proto.OpCreate, Create(path, nil, 0)); m.Code != proto.BadArguments {
			t.Errorf("create %q: %v", path, m.Code)
		}
	}
	// The parent is looked up before the whole path is judged.
	for _, path := range []string{r + "//x", r + "/./x"} {
		if m := raw.Do(t, proto.OpCreate, Create(path, nil, 0)); m.Code != proto.NoNode {
			t.Errorf("create %q: %v", path, m.Code)
		}
	}
	for _, path := range []string{r + "/...", r + "/.x", r + "/ ", r + "/ü€"} {
		if m := raw.Do(t, proto.OpCreate, Create(path, nil, 0)); m.Code != proto.OK {
			t.Errorf("create %q: %v", path, m.Code)
		}
	}
	for _, c := range []struct {
		op   proto.Op
		body func([]byte) []byte
		want proto.Code
	}{
		{proto.OpCreate, Create(r+"/no/child", nil, 0), proto.NoNode},
		{proto.OpCreate, Create("/", nil, 0), proto.NodeExists},
		{proto.OpCreate, Create(r+"/mode", nil, 17), proto.BadArguments},
		{proto.OpDelete, PathVersion("/", -1), proto.BadArguments},
		{proto.OpDelete, PathVersion("/zookeeper", -1), proto.BadArguments},
		{proto.OpDelete, PathVersion("", -1), proto.BadArguments},
		{proto.OpDelete, PathVersion(r, -1), proto.NotEmpty},
		{proto.OpDelete, PathVersion(r+"/x", -1), proto.NoNode},
		{proto.OpSetData, SetData(r+"/x", nil, -1), proto.NoNode},
		{proto.OpExists, PathWatch(r+"/x", false), proto.NoNode},
		{proto.OpGetData, PathWatch(r+"/x", false), proto.NoNode},
		{proto.OpGetChildren, PathWatch(r+"/x", false), proto.NoNode},
		{proto.OpGetChildren2, PathWatch(r+"/x", false), proto.NoNode},
	} {
		if m := raw.Do(t, c.op, c.body); m.Code != c.want {
			t.Errorf("operation %d, body %q: %v, want %v", c.op, c.body(nil), m.Code, c.want)
		}
	}
}

// createTwo: create2 answers with the stat, which holds the czxid.
func createTwo(t *testing.T, s Store) {
	r := root(t, client(t, s))
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	m := raw.Do(t, proto.OpCreate2, Create(r+"/a", []byte("xyz"), proto.Ephemeral))
	path := m.Body.String()
	stat := ReadStat(m.Body)
	if m.Code != proto.OK || path != r+"/a" || stat.Czxid != m.Zxid || stat.EphemeralOwner != raw.Session || stat.DataLength != 3 {
		t.Fatalf("%v %q %+v zxid %d", m.Code, path, stat, m.Zxid)
	}
	if got := ReadStat(raw.Do(t, proto.OpExists, PathWatch(path, false)).Body); got != stat {
		t.Errorf("read %+v, create2 said %+v", got, stat)
	}
}

func containers(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	path := must[string](t)(c.CreateContainer(r+"/c", []byte("x"), zk.FlagContainer, open))
	must[string](t)(c.Create(path+"/k", nil, 0, open))
	if data, _, err := c.Get(path); err != nil || string(data) != "x" {
		t.Errorf("%q %v", data, err)
	}
}

func acls(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	if err := c.AddAuth("digest", []byte("ann:secret")); err != nil {
		t.Fatal(err)
	}
	digest := zk.DigestACL(zk.PermAll, "ann", "secret")
	must[string](t)(c.Create(r+"/a", nil, 0, digest))
	got, stat, err := c.GetACL(r + "/a")
	if err != nil || len(got) != 1 || got[0] != digest[0] || stat.Aversion != 0 {
		t.Fatalf("%v %+v %v", got, stat, err)
	}
	must[string](t)(c.Create(r+"/own", nil, 0, zk.AuthACL(zk.PermRead|zk.PermAdmin)))
	want := digest[0]
	want.Perms = zk.PermRead | zk.PermAdmin
	if got, _, err := c.GetACL(r + "/own"); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("scheme auth: %v %v, want %v", got, err, want)
	}
	wide := append(append([]zk.ACL{}, digest...), zk.WorldACL(zk.PermRead)...)
	if stat := must[*zk.Stat](t)(c.SetACL(r+"/a", wide, 0)); stat.Aversion != 1 || stat.Version != 0 {
		t.Errorf("setACL: %+v", stat)
	}
	if got, _, _ := c.GetACL(r + "/a"); len(got) != 2 {
		t.Errorf("after setACL: %v", got)
	}
	if _, err := c.SetACL(r+"/a", digest, 0); err != zk.ErrBadVersion {
		t.Errorf("setACL with an old version: %v", err)
	}
	if _, err := c.Create(r+"/b", nil, 0, nil); err != zk.ErrInvalidACL {
		t.Errorf("without ACL: %v", err)
	}
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	m := raw.Do(t, proto.OpAuth, func(b []byte) []byte {
		return proto.AppendBuffer(proto.AppendString(proto.AppendInt32(b, 0), "nonsense"), []byte("x"))
	})
	if m.Code != proto.AuthFailed {
		t.Errorf("unknown scheme: %v", m.Code)
	}
	if _, err := raw.TryNext(); err == nil {
		t.Error("the connection outlives a failed authentication")
	}
}

func syncOp(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	if got, err := c.Sync(r); err != nil || got != r {
		t.Errorf("sync: %q %v", got, err)
	}
}

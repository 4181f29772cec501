package conformance

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"kbench/internal/zkserver/proto"
)

func multiCommits(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	must[string](t)(c.Create(r+"/old", nil, 0, open))
	res, err := c.Multi(
		&zk.CheckVersionRequest{Path: r, Version: 0},
		&zk.CreateRequest{Path: r + "/a", Data: []byte("x"), Acl: open},
		&zk.CreateRequest{Path: r + "/s-", Acl: open, Flags: zk.FlagSequence},
		&zk.SetDataRequest{Path: r, Data: []byte("new"), Version: 0},
		&zk.DeleteRequest{Path: r + "/old", Version: 0},
	)
	if err != nil || len(res) != 5 {
		t.Fatalf("%v %v", res, err)
	}
	if res[1].String != r+"/a" || res[2].String != r+"/s-0000000002" || res[3].Stat.Version != 1 {
		t.Errorf("results %+v", res)
	}
	_, a, _ := c.Get(r + "/a")
	_, p, _ := c.Get(r)
	if a.Czxid != p.Mzxid || a.Czxid != p.Pzxid {
		t.Errorf("one multi, several zxids: %+v %+v", a, p)
	}
	if exists(t, c, r+"/old") {
		t.Error("the deletion did not happen")
	}
	if res, err := c.Multi(); err != nil || len(res) != 0 {
		t.Errorf("empty multi: %v %v", res, err)
	}
}

// multiRollsBack: nothing of a failed multi stays, stats included, and the
// reply names the error of each operation.
func multiRollsBack(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	must[string](t)(c.Create(r+"/old", []byte("o"), 0, open))
	_, before, _ := c.Get(r)
	_, oldBefore, _ := c.Get(r + "/old")
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	m := raw.Do(t, proto.OpMulti, Multi(
		Sub{proto.OpCreate, Create(r+"/a", nil, 0)},
		Sub{proto.OpSetData, SetData(r+"/old", []byte("changed"), 0)},
		Sub{proto.OpDelete, PathVersion(r+"/old", 1)},
		Sub{proto.OpCheck, PathVersion(r, 77)},
		Sub{proto.OpCreate, Create(r+"/b", nil, 0)},
		Sub{proto.OpSetData, SetData(r+"/nowhere", nil, 0)},
	))
	if m.Code != proto.OK {
		t.Fatalf("header says %v; the errors belong to the operations", m.Code)
	}
	var got []proto.Code
	for {
		op, done, code := proto.Op(m.Body.Int32()), m.Body.Bool(), proto.Code(m.Body.Int32())
		if done {
			break
		}
		if body := proto.Code(m.Body.Int32()); op != proto.OpError || body != code || m.Body.Err() != nil {
			t.Fatalf("result: type %d, header %v, body %v, %v", op, code, body, m.Body.Err())
		}
		got = append(got, code)
	}
	want := []proto.Code{proto.OK, proto.OK, proto.OK, proto.BadVersion, proto.RuntimeInconsistency, proto.RuntimeInconsistency}
	if !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v", got, want)
	}
	for _, path := range []string{r + "/a", r + "/b"} {
		if exists(t, c, path) {
			t.Errorf("%s stays", path)
		}
	}
	_, after, _ := c.Get(r)
	data, oldAfter, err := c.Get(r + "/old")
	if err != nil || string(data) != "o" || *oldAfter != *oldBefore || *after != *before {
		t.Errorf("old %q %+v, was %+v; parent %+v, was %+v; %v", data, oldAfter, oldBefore, after, before, err)
	}
	if got := must[string](t)(c.Create(r+"/s", nil, zk.FlagSequence, open)); got != r+"/s0000000001" {
		t.Errorf("the failed multi used up a number: %s", got)
	}
}

// multiEphemerals is how Kafka elects a controller.
func multiEphemerals(t *testing.T, s Store) {
	c, other := client(t, s), client(t, s)
	r := root(t, c)
	must[string](t)(c.Create(r+"/epoch", []byte("0"), 0, open))
	elect := func(c *zk.Conn, version int32) error {
		_, err := c.Multi(
			&zk.CreateRequest{Path: r + "/controller", Acl: open, Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: r + "/epoch", Data: []byte("x"), Version: version},
		)
		return err
	}
	if err := elect(c, 3); err != zk.ErrBadVersion {
		t.Fatalf("wrong version: %v", err)
	}
	if exists(t, c, r+"/controller") {
		t.Fatal("the ephemeral of a failed multi stays")
	}
	if err := elect(c, 0); err != nil {
		t.Fatal(err)
	}
	if err := elect(other, 1); err != zk.ErrNodeExists {
		t.Errorf("second candidate: %v", err)
	}
	if _, st, _ := other.Get(r + "/epoch"); st.Version != 1 {
		t.Errorf("epoch changed by the loser: version %d", st.Version)
	}
	c.Close()
	if exists(t, other, r+"/controller") {
		t.Error("the ephemeral outlives its session")
	}
	if err := elect(other, 1); err != nil {
		t.Errorf("next candidate: %v", err)
	}
}

// multiSeesItself: later operations see what earlier ones did.
func multiSeesItself(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	_, err := c.Multi(
		&zk.CreateRequest{Path: r + "/a", Acl: open},
		&zk.CreateRequest{Path: r + "/a/b", Acl: open},
		&zk.SetDataRequest{Path: r + "/a/b", Data: []byte("x"), Version: 0},
		&zk.CheckVersionRequest{Path: r + "/a/b", Version: 1},
		&zk.DeleteRequest{Path: r + "/a/b", Version: 1},
		&zk.DeleteRequest{Path: r + "/a", Version: 0},
		&zk.CreateRequest{Path: r + "/a", Data: []byte("again"), Acl: open},
	)
	if err != nil {
		t.Fatal(err)
	}
	data, st, err := c.Get(r + "/a")
	if err != nil || string(data) != "again" || st.Version != 0 || st.Cversion != 0 {
		t.Errorf("%q %+v %v", data, st, err)
	}
	if _, p, _ := c.Get(r); p.Cversion != 3 || p.NumChildren != 1 {
		t.Errorf("parent %+v", p)
	}
}

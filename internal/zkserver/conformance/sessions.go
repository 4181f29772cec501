package conformance

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/internal/zkserver/proto"
)

func negotiation(t *testing.T, s Store) {
	for _, c := range []struct{ ask, want time.Duration }{
		{0, 2 * s.Tick}, {time.Millisecond, 2 * s.Tick}, {5 * s.Tick, 5 * s.Tick}, {time.Hour, 20 * s.Tick}, {-time.Second, 2 * s.Tick},
	} {
		if got := ConnectRaw(t, s.addr(), c.ask).Timeout; got != c.want {
			t.Errorf("asked for %v: got %v, want %v", c.ask, got, c.want)
		}
	}
}

// reattach: a session outlives its connection, with its ephemerals, and the
// server gives the same password again.
func reattach(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	a := ConnectRaw(t, s.addr(), 20*s.Tick)
	if m := a.Do(t, proto.OpCreate, Create(r+"/e", nil, proto.Ephemeral)); m.Code != proto.OK {
		t.Fatal(m.Code)
	}
	a.Close()
	b, ok := a.Reattach(t, s.addr(), a.Password)
	if !ok || b.Session != a.Session || !bytes.Equal(b.Password, a.Password) {
		t.Fatalf("session 0x%x came back as 0x%x, alive %v", a.Session, b.Session, ok)
	}
	if !exists(t, c, r+"/e") {
		t.Error("the ephemeral went with the connection")
	}
	if m := b.Do(t, proto.OpDelete, PathVersion(r+"/e", 0)); m.Code != proto.OK {
		t.Error(m.Code)
	}
}

func wrongPassword(t *testing.T, s Store) {
	a := ConnectRaw(t, s.addr(), 20*s.Tick)
	bad := bytes.Clone(a.Password)
	bad[3] ^= 1
	if _, ok := a.Reattach(t, s.addr(), bad); ok {
		t.Error("a session was given for a wrong password")
	}
	// ZooKeeper drops the owner's connection before it looks at the password;
	// the session is its own still.
	b, ok := a.Reattach(t, s.addr(), a.Password)
	if !ok {
		t.Fatal("the rightful owner lost its session")
	}
	if m := b.Do(t, proto.OpExists, PathWatch("/", false)); m.Code != proto.OK {
		t.Errorf("the rightful owner: %v", m.Code)
	}
}

// expiry: a silent session ends not before its time-out and not much after
// (a real ZooKeeper rounds up to the next tick), its ephemerals go, watchers
// hear of it, and the session cannot be taken up again.
func expiry(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	a := ConnectRaw(t, s.addr(), 4*s.Tick)
	start := time.Now()
	if m := a.Do(t, proto.OpCreate, Create(r+"/e", nil, proto.Ephemeral)); m.Code != proto.OK {
		t.Fatal(m.Code)
	}
	ok, _, ch, err := c.ExistsW(r + "/e")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	select {
	case e := <-ch:
		if e.Type != zk.EventNodeDeleted {
			t.Errorf("event %v", e)
		}
	case <-time.After(ioDeadline):
		t.Fatal("the ephemeral of a silent session is still there")
	}
	const slack = 5 * time.Second // of a loaded machine
	if took := time.Since(start); took < 4*s.Tick || took > 6*s.Tick+slack {
		t.Errorf("expired after %v, time-out %v", took, 4*s.Tick)
	}
	if _, ok := a.Reattach(t, s.addr(), a.Password); ok {
		t.Error("an expired session was taken up again")
	}
}

func pings(t *testing.T, s Store) {
	a := ConnectRaw(t, s.addr(), 4*s.Tick)
	for end := time.Now().Add(10 * s.Tick); time.Now().Before(end); time.Sleep(s.Tick) {
		if m := a.Do(t, proto.OpPing, nil); m.Code != proto.OK || m.Xid != proto.XidPing {
			t.Fatalf("ping answered with %+v", m)
		}
	}
	if m := a.Do(t, proto.OpExists, PathWatch("/", false)); m.Code != proto.OK {
		t.Errorf("after pings: %v", m.Code)
	}
}

// takeOver: who takes up a session ends the connection that had it.
func takeOver(t *testing.T, s Store) {
	a := ConnectRaw(t, s.addr(), 20*s.Tick)
	b, ok := a.Reattach(t, s.addr(), a.Password)
	if !ok {
		t.Fatal("the session was refused")
	}
	if _, err := a.TryNext(); err == nil {
		t.Error("the first connection got a frame instead of its end")
	}
	if m := b.Do(t, proto.OpExists, PathWatch("/", false)); m.Code != proto.OK {
		t.Errorf("the second connection: %v", m.Code)
	}
}

// laterZxid: a client that has seen more than the server holds must not be
// served an older state.
func laterZxid(t *testing.T, s Store) {
	a := DialRaw(t, s.addr())
	b, at := proto.StartFrame(nil)
	b = proto.AppendInt64(proto.AppendInt32(b, 0), 1<<60)
	b = proto.AppendInt64(proto.AppendInt32(b, 1000), 0)
	a.Write(t, proto.FinishFrame(proto.AppendBool(proto.AppendBuffer(b, make([]byte, 16)), false), at))
	if _, err := a.frame(); err == nil {
		t.Error("the server answered a client that has seen a later zxid")
	}
}

func closeSession(t *testing.T, s Store) {
	c := client(t, s)
	r := root(t, c)
	a := ConnectRaw(t, s.addr(), 20*s.Tick)
	a.Do(t, proto.OpCreate, Create(r+"/e", nil, proto.Ephemeral))
	if m := a.Do(t, proto.OpCloseSession, nil); m.Code != proto.OK {
		t.Fatal(m.Code)
	}
	if exists(t, c, r+"/e") {
		t.Error("the ephemeral is there after closeSession was acknowledged")
	}
	if _, err := a.TryNext(); err == nil {
		t.Error("the connection stays open after closeSession")
	}
	if _, ok := a.Reattach(t, s.addr(), a.Password); ok {
		t.Error("a closed session was taken up again")
	}
}

func ephemerals(t *testing.T, s Store) {
	c, other := client(t, s), client(t, s)
	r := root(t, c)
	path := must[string](t)(c.Create(r+"/e", []byte("x"), zk.FlagEphemeral, open))
	_, stat, err := other.Get(path)
	if err != nil || stat.EphemeralOwner != c.SessionID() {
		t.Fatalf("owner 0x%x, want 0x%x; %v", stat.EphemeralOwner, c.SessionID(), err)
	}
	if _, err := c.Create(path+"/child", nil, 0, open); err != zk.ErrNoChildrenForEphemerals {
		t.Errorf("child of an ephemeral: %v", err)
	}
	if _, err := other.Create(path, nil, zk.FlagEphemeral, open); err != zk.ErrNodeExists {
		t.Errorf("taken by another session: %v", err)
	}
	if err := other.Delete(path, -1); err != nil {
		t.Errorf("deleted by another session: %v", err)
	}
	must[string](t)(c.Create(path, nil, zk.FlagEphemeral, open))
	c.Close()
	if exists(t, other, path) {
		t.Error("the ephemeral outlives its closed session")
	}
}

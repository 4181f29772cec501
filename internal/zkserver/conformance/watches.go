package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/internal/zkserver/proto"
)

// script runs requests of two raw clients and compares the watcher's events.
type script struct {
	t       *testing.T
	watcher *Raw
	writer  *Raw
	root    string
}

func newScript(t *testing.T, s Store) script {
	r := root(t, client(t, s))
	return script{t, ConnectRaw(t, s.addr(), 20*s.Tick), ConnectRaw(t, s.addr(), 20*s.Tick), r}
}

func (s script) watch(op proto.Op, path string, want proto.Code) {
	s.t.Helper()
	if m := s.watcher.Do(s.t, op, PathWatch(s.root+path, true)); m.Code != want {
		s.t.Fatalf("watch %s: %v, want %v", path, m.Code, want)
	}
}

func (s script) write(op proto.Op, body func([]byte) []byte) {
	s.t.Helper()
	if m := s.writer.Do(s.t, op, body); m.Code != proto.OK {
		s.t.Fatalf("write: %v", m.Code)
	}
}

// told reads exactly the events given; a ping's reply after them shows that
// there are no more.
func (s script) told(want ...Event) {
	s.t.Helper()
	b, _ := s.watcher.Append(nil, proto.OpPing, nil)
	s.watcher.Write(s.t, b)
	var got []Event
	for {
		m := s.watcher.Next(s.t)
		if m.Xid == proto.XidPing {
			break
		}
		got = append(got, ReadEvent(s.t, m))
	}
	for i := range want {
		want[i].Path = s.root + want[i].Path
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("events %v, want %v", got, want)
	}
}

func watches(t *testing.T, st Store) {
	s := newScript(t, st)
	p := func(x string) string { return s.root + x }
	s.watch(proto.OpExists, "/a", proto.NoNode)
	s.watch(proto.OpExists, "/a", proto.NoNode) // twice is one event
	s.watch(proto.OpGetChildren, "", proto.OK)
	s.write(proto.OpCreate, Create(p("/a"), nil, 0))
	s.told(Event{proto.NodeCreated, "/a"}, Event{proto.NodeChildrenChanged, ""})
	s.write(proto.OpSetData, SetData(p("/a"), []byte("x"), 0))
	s.write(proto.OpCreate, Create(p("/b"), nil, 0))
	s.told() // one-shot: both are used up
	s.watch(proto.OpGetData, "/a", proto.OK)
	s.watch(proto.OpGetChildren2, "/a", proto.OK)
	s.write(proto.OpSetData, SetData(p("/a"), []byte("y"), -1))
	s.told(Event{proto.NodeDataChanged, "/a"})
	s.write(proto.OpCreate, Create(p("/a/k"), nil, 0))
	s.told(Event{proto.NodeChildrenChanged, "/a"})
	s.watch(proto.OpGetData, "/none", proto.NoNode) // leaves no watch
	s.watch(proto.OpGetChildren, "/none", proto.NoNode)
	s.write(proto.OpCreate, Create(p("/none"), nil, 0))
	s.told()
	// A failed write tells nobody; a multi tells after it is whole.
	s.watch(proto.OpGetData, "/a", proto.OK)
	s.watch(proto.OpGetChildren, "", proto.OK)
	s.writer.Do(t, proto.OpMulti, Multi(
		Sub{proto.OpSetData, SetData(p("/a"), nil, -1)}, Sub{proto.OpCreate, Create(p("/c"), nil, 0)}, Sub{proto.OpCheck, PathVersion(p("/a"), 99)}))
	s.told()
	s.write(proto.OpMulti, Multi(Sub{proto.OpCreate, Create(p("/c"), nil, 0)}, Sub{proto.OpSetData, SetData(p("/a"), nil, -1)}))
	s.told(Event{proto.NodeChildrenChanged, ""}, Event{proto.NodeDataChanged, "/a"})
}

// watchesOfDeletion: who watches data and children of a deleted znode is told
// once.
func watchesOfDeletion(t *testing.T, st Store) {
	s := newScript(t, st)
	s.write(proto.OpCreate, Create(s.root+"/a", nil, 0))
	s.watch(proto.OpGetData, "/a", proto.OK)
	s.watch(proto.OpExists, "/a", proto.OK)
	s.watch(proto.OpGetChildren, "/a", proto.OK)
	s.watch(proto.OpGetChildren, "", proto.OK)
	s.write(proto.OpDelete, PathVersion(s.root+"/a", 0))
	s.told(Event{proto.NodeDeleted, "/a"}, Event{proto.NodeChildrenChanged, ""})
	s.write(proto.OpCreate, Create(s.root+"/a", nil, 0))
	s.told()
	s.watch(proto.OpGetChildren, "/a", proto.OK)
	s.write(proto.OpDelete, PathVersion(s.root+"/a", 0))
	s.told(Event{proto.NodeDeleted, "/a"})
}

// eventBeforeReply: a client never reads a new state before it is told of the
// change, and a writer hears its own watch before its reply.
func eventBeforeReply(t *testing.T, st Store) {
	s := newScript(t, st)
	s.watch(proto.OpGetData, "", proto.OK)
	b, xid := s.watcher.Append(nil, proto.OpSetData, SetData(s.root, []byte("new"), -1))
	s.watcher.Write(t, b)
	if e := ReadEvent(t, s.watcher.Next(t)); e != (Event{proto.NodeDataChanged, s.root}) {
		t.Errorf("event %v", e)
	}
	if m := s.watcher.Next(t); m.Xid != xid {
		t.Errorf("frame after the event has xid %d, want %d", m.Xid, xid)
	}
	// The other's change: reads are sent until one shows it; the event must
	// have come before that reply.
	for i := range 50 {
		s.watch(proto.OpGetData, "", proto.OK)
		value := fmt.Sprint(i)
		w, _ := s.writer.Append(nil, proto.OpSetData, SetData(s.root, []byte(value), -1))
		s.writer.Write(t, w)
		told := false
		for seen := ""; seen != value; {
			b, xid := s.watcher.Append(nil, proto.OpGetData, PathWatch(s.root, false))
			s.watcher.Write(t, b)
			m := s.watcher.Next(t)
			for ; m.Xid != xid; m = s.watcher.Next(t) {
				told = told || ReadEvent(t, m).Type == proto.NodeDataChanged
			}
			seen = string(m.Body.Buffer())
		}
		if !told {
			t.Fatalf("change %d was read before its event came", i)
		}
		s.writer.Next(t)
	}
}

func eventsInOrder(t *testing.T, st Store) {
	s := newScript(t, st)
	const n = 200
	var want []Event
	var batch []byte
	for i := range n {
		path := fmt.Sprintf("/k%d", i)
		s.watch(proto.OpExists, path, proto.NoNode)
		batch, _ = s.writer.Append(batch, proto.OpCreate, Create(s.root+path, nil, 0))
		want = append(want, Event{proto.NodeCreated, path})
	}
	s.writer.Write(t, batch)
	for range n {
		s.writer.Next(t)
	}
	s.told(want...)
}

// setWatches: after a reconnect, what changed meanwhile fires at once, before
// the reply; the rest is watched again.
func setWatches(t *testing.T, st Store) {
	s := newScript(t, st)
	p := func(x string) string { return s.root + x }
	for _, k := range []string{"/data", "/same", "/gone", "/kids", "/kidssame"} {
		s.write(proto.OpCreate, Create(p(k), nil, 0))
	}
	s.watcher.Do(t, proto.OpSync, func(b []byte) []byte { return proto.AppendString(b, s.root) })
	seen := s.watcher.Zxid
	s.watcher.Close()
	s.write(proto.OpSetData, SetData(p("/data"), []byte("x"), 0))
	s.write(proto.OpDelete, PathVersion(p("/gone"), 0))
	s.write(proto.OpCreate, Create(p("/kids/k"), nil, 0))
	s.write(proto.OpCreate, Create(p("/new"), nil, 0))
	again, ok := s.watcher.Reattach(t, st.addr(), s.watcher.Password)
	if !ok {
		t.Fatal("session lost")
	}
	s.watcher = again
	b, xid := again.Append(nil, proto.OpSetWatches, SetWatches(seen,
		[]string{p("/data"), p("/same"), p("/gone")}, []string{p("/new"), p("/never")}, []string{p("/kids"), p("/kidssame")}))
	again.Write(t, b)
	got := map[Event]int{}
	m := again.Next(t)
	for ; m.Xid == proto.XidNotification; m = again.Next(t) {
		got[ReadEvent(t, m)]++
	}
	if m.Xid != xid || m.Code != proto.OK {
		t.Fatalf("setWatches answered with %+v", m)
	}
	want := []Event{{proto.NodeDataChanged, p("/data")}, {proto.NodeDeleted, p("/gone")}, {proto.NodeCreated, p("/new")}, {proto.NodeChildrenChanged, p("/kids")}}
	for _, e := range want {
		if got[e] != 1 {
			t.Errorf("event %v came %d times", e, got[e])
		}
	}
	if len(got) != len(want) {
		t.Errorf("events %v, want %v", got, want)
	}
	s.write(proto.OpSetData, SetData(p("/data"), nil, -1)) // fired already
	s.write(proto.OpSetData, SetData(p("/same"), nil, -1))
	s.write(proto.OpCreate, Create(p("/never"), nil, 0))
	s.write(proto.OpCreate, Create(p("/kidssame/k"), nil, 0))
	s.told(Event{proto.NodeDataChanged, "/same"}, Event{proto.NodeCreated, "/never"}, Event{proto.NodeChildrenChanged, "/kidssame"})
}

// manyWatches: 50,000 watches set again, the connection dropped while that is
// outstanding, set again: the change made in the gap fires exactly once.
func manyWatches(t *testing.T, st Store) {
	s := newScript(t, st)
	const n = 50_000
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s/w%d", s.root, i)
	}
	s.watcher.Do(t, proto.OpSync, func(b []byte) []byte { return proto.AppendString(b, s.root) })
	seen := s.watcher.Zxid
	send := func() (requests int) {
		var b []byte
		const chunk = 2000 // paths a request, well under jute.maxbuffer
		for i := 0; i < n; i += chunk {
			b, _ = s.watcher.Append(b, proto.OpSetWatches, SetWatches(seen, nil, paths[i:i+chunk], nil))
			requests++
		}
		s.watcher.Write(t, b)
		return requests
	}
	reattach := func() {
		t.Helper()
		s.watcher.Close()
		again, ok := s.watcher.Reattach(t, st.addr(), s.watcher.Password)
		if !ok {
			t.Fatal("session lost")
		}
		s.watcher = again
	}
	reattach()
	send()
	s.watcher.Next(t) // at least one is set, the rest is outstanding
	reattach()
	s.write(proto.OpCreate, Create(paths[n/2], nil, 0))
	events := 0
	for replies := send(); replies > 0; {
		m := s.watcher.Next(t)
		if m.Xid != proto.XidNotification {
			replies--
			continue
		}
		events++
		if e := ReadEvent(t, m); e != (Event{proto.NodeCreated, paths[n/2]}) {
			t.Errorf("event %v", e)
		}
	}
	if events != 1 {
		t.Errorf("the change in the gap was told %d times", events)
	}
	s.write(proto.OpCreate, Create(paths[n-1], nil, 0))
	s.told(Event{proto.NodeCreated, fmt.Sprintf("/w%d", n-1)})
}

// clientWatches: go-zookeeper's own reconnect, through a restart of the store.
func clientWatches(t *testing.T, s Store) {
	c, _ := clientWithEvents(t, s)
	r := root(t, c)
	_, _, _, err := c.GetW(r)
	if err != nil {
		t.Fatal(err)
	}
	ok, _, ch, err := c.ExistsW(r + "/later")
	if err != nil || ok {
		t.Fatal(ok, err)
	}
	s.Restart(t)
	other := client(t, s)
	must[string](t)(other.Create(r+"/later", nil, 0, open))
	select {
	case e := <-ch:
		if e.Type != zk.EventNodeCreated || e.Path != r+"/later" {
			t.Errorf("event %+v", e)
		}
	case <-time.After(ioDeadline):
		t.Error("the watch did not survive the reconnect")
	}
}

package zkcluster

import (
	"fmt"
	"slices"
	"time"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// session is what the server knows of a client.
type session struct {
	id      int64
	client  *client
	timeout time.Duration
	expired bool
	silent  int // counts the beginnings and ends of silence
	owns    []string
}

// watchers are sessions with a watch on a path, in the order of arming.
type watchers map[string][]*session

func (ws watchers) add(path string, s *session) {
	if !slices.Contains(ws[path], s) {
		ws[path] = append(ws[path], s)
	}
}

// take gives those of a path, whose watches are spent with it.
func (ws watchers) take(path string) []*session {
	l := ws[path]
	if l != nil {
		delete(ws, path)
	}
	return l
}

func (ws watchers) forget(s *session) {
	for path, l := range ws {
		if i := slices.Index(l, s); i >= 0 {
			ws[path] = slices.Delete(slices.Clone(l), i, i+1)
		}
	}
}

// server is the ensemble as clients see it: one order of all writes.
type server struct {
	w           *world
	tree        *tree
	nextSession int64
	data, kids  watchers
}

func newServer(w *world) *server {
	s := &server{w: w, tree: newTree(), data: watchers{}, kids: watchers{}}
	for _, path := range []string{
		"/brokers", zk.BrokerIDsPath, zk.TopicsPath, "/config", zk.ConfigChangesPath, "/config/topics", "/config/brokers",
		"/admin", zk.DeleteTopicsPath, zk.ISRChangesPath, zk.LogDirEventsPath, zk.ProducerIDBlockPath,
	} {
		s.tree.create(path, nil, 0)
	}
	return s
}

// execute carries out one request of a session that lives.
func (s *server) execute(sn *session, o *op) result {
	n := s.tree.nodes[o.path]
	switch o.kind {
	case opGet:
		if n == nil {
			return result{err: errNoNode}
		}
		if o.watch {
			s.data.add(o.path, sn)
		}
		return result{data: n.data, version: n.version, czxid: n.czxid, owner: n.owner}
	case opExists:
		if o.watch {
			s.data.add(o.path, sn)
		}
		if n == nil {
			return result{}
		}
		return result{exists: true, version: n.version, czxid: n.czxid, owner: n.owner}
	case opChildren:
		if n == nil {
			return result{err: errNoNode}
		}
		if o.watch {
			s.kids.add(o.path, sn)
		}
		return result{children: n.children}
	case opElect:
		return s.elect(sn, o)
	}
	if o.fence != noFence {
		if e := s.tree.nodes[zk.ControllerEpochPath]; e == nil || e.version != o.fence {
			s.w.cov.Fenced++
			return result{err: errFenced}
		}
	}
	r := s.write(sn, o)
	if r.err == nil {
		s.w.judge.wrote(o)
	}
	return r
}

func (s *server) write(sn *session, o *op) result {
	n := s.tree.nodes[o.path]
	switch o.kind {
	case opCreate:
		dir, _ := parent(o.path)
		up := s.tree.nodes[dir]
		if up == nil {
			return result{err: errNoNode}
		}
		path := o.path
		if o.sequential {
			path = fmt.Sprintf("%s%010d", path, up.sequence)
			up.sequence++
		} else if n != nil {
			return result{err: errNodeExists}
		}
		owner := int64(0)
		if o.ephemeral {
			owner = sn.id
			sn.owns = append(sn.owns, path)
		}
		s.tree.zxid++
		n = s.tree.create(path, o.data, owner)
		s.changed(path, nil, n)
		s.fire(s.data, path, nodeCreated)
		s.fire(s.kids, dir, childrenChanged)
		return result{created: path, czxid: n.czxid}
	case opSet:
		switch {
		case n == nil:
			return result{err: errNoNode}
		case o.version != anyVersion && o.version != n.version:
			return result{err: errBadVersion}
		}
		old := *n
		s.tree.zxid++
		n.data, n.version, n.mzxid = o.data, n.version+1, s.tree.zxid
		s.changed(o.path, &old, n)
		s.fire(s.data, o.path, dataChanged)
		return result{version: n.version, czxid: n.czxid}
	default:
		switch {
		case n == nil:
			return result{err: errNoNode}
		case len(n.children) > 0:
			return result{err: errNotEmpty}
		}
		s.delete(o.path)
		return result{}
	}
}

func (s *server) delete(path string) {
	n := s.tree.nodes[path]
	s.tree.zxid++
	s.tree.remove(path)
	s.changed(path, n, nil)
	s.fire(s.data, path, nodeDeleted)
	s.fire(s.kids, path, nodeDeleted)
	dir, _ := parent(path)
	s.fire(s.kids, dir, childrenChanged)
}

// elect is the multi by which a candidate becomes controller.
func (s *server) elect(sn *session, o *op) result {
	e := s.tree.nodes[zk.ControllerEpochPath]
	switch {
	case s.tree.nodes[zk.ControllerPath] != nil:
		return result{err: errNodeExists}
	case e == nil || e.version != o.version:
		return result{err: errBadVersion}
	}
	s.write(sn, &op{kind: opCreate, path: zk.ControllerPath, data: o.data, ephemeral: true})
	old := *e
	e.data, e.version, e.mzxid = e.data.(kafka.ControllerEpoch)+1, e.version+1, s.tree.zxid
	s.changed(zk.ControllerEpochPath, &old, e)
	s.fire(s.data, zk.ControllerEpochPath, dataChanged)
	return result{version: e.version}
}

func (s *server) changed(path string, old, now *znode) {
	s.w.trace.Add(uint64(s.tree.zxid), uint64(len(path)))
	s.w.judge.changed(path, old, now)
}

// fire tells the watchers of a path, once.
func (s *server) fire(ws watchers, path string, kind watchKind) {
	for _, sn := range ws.take(path) {
		sn.client.notify(watchEvent{kind, path}, s.tree.zxid)
	}
}

// quiet notes that nothing is heard of a session: unless something is before
// its timeout ends, it expires.
func (s *server) quiet(sn *session) {
	sn.silent++
	mark := sn.silent
	s.w.after(sn.timeout, func() {
		if sn.silent == mark {
			s.expire(sn)
		}
	})
}

// expire ends a session with its ephemeral nodes and watches.
func (s *server) expire(sn *session) {
	if sn.expired {
		return
	}
	sn.expired = true
	s.w.trace.note("session %d of %s is over", sn.id, sn.client.name)
	s.data.forget(sn)
	s.kids.forget(sn)
	for _, path := range sn.owns {
		if n := s.tree.nodes[path]; n != nil && n.owner == sn.id {
			s.delete(path)
		}
	}
}

// rearm is SetWatches of a client that has seen everything up to zxid: what has
// changed since is told at once, for the rest the watches stand again.
func (s *server) rearm(sn *session, zxid int64, armed *armed) {
	for _, path := range armed.paths(armed.data) {
		switch n, there := s.tree.nodes[path], armed.data[path]; {
		case n == nil && there:
			sn.client.notify(watchEvent{nodeDeleted, path}, s.tree.zxid)
		case n != nil && !there:
			sn.client.notify(watchEvent{nodeCreated, path}, s.tree.zxid)
		case n != nil && n.mzxid > zxid:
			sn.client.notify(watchEvent{dataChanged, path}, s.tree.zxid)
		default:
			s.data.add(path, sn)
		}
	}
	for _, path := range armed.paths(armed.kids) {
		switch n := s.tree.nodes[path]; {
		case n == nil:
			sn.client.notify(watchEvent{nodeDeleted, path}, s.tree.zxid)
		case n.pzxid > zxid:
			sn.client.notify(watchEvent{childrenChanged, path}, s.tree.zxid)
		default:
			s.kids.add(path, sn)
		}
	}
}

package datatree

import (
	"slices"
	"strings"

	"kbench/internal/zkserver/proto"
)

// Tree is the state of one server. It is not safe for concurrent use.
type Tree struct {
	root     *znode
	zxid     int64
	nodes    int
	bytes    int64
	sessions map[int64]*session
	acls     aclTable
	names    map[string]string
	sweep    map[*znode]struct{} // containers and TTL nodes
	undo     []undo
	res      Result
}

// session is the durable part of a session.
type session struct {
	timeoutMs  int32
	password   [16]byte
	ephemerals []*znode
}

// maxNames bounds the table of shared names; more are kept with their znodes.
const maxNames = 1 << 16

// New gives the tree of a new server: /, /zookeeper and its two children.
func New() *Tree {
	t := &Tree{
		root: &znode{}, sessions: map[int64]*session{}, names: map[string]string{},
		sweep: map[*znode]struct{}{}, nodes: 1,
	}
	t.acls.id(openACL)
	z := t.attach(t.root, "zookeeper", &znode{})
	t.attach(z, "config", &znode{})
	t.attach(z, "quota", &znode{})
	return t
}

// Zxid is the last transaction applied.
func (t *Tree) Zxid() int64 { return t.zxid }

// Nodes is the number of znodes, the four every tree has included.
func (t *Tree) Nodes() int { return t.nodes }

// DataBytes is the sum of all data and names.
func (t *Tree) DataBytes() int64 { return t.bytes }

// find walks from the root; nil if there is no such znode.
func (t *Tree) find(path string) *znode {
	if path == "/" || path == "" {
		return t.root
	}
	if path[0] != '/' {
		return nil
	}
	n, rest := t.root, path[1:]
	for n != nil {
		name, tail, more := strings.Cut(rest, "/")
		n = n.child(name)
		if !more {
			return n
		}
		rest = tail
	}
	return nil
}

// attach puts a new znode under its parent without touching stats.
func (t *Tree) attach(parent *znode, name string, n *znode) *znode {
	n.name, n.parent = t.sharedName(name), parent
	parent.addChild(n)
	t.nodes++
	t.bytes += int64(len(n.name) + len(n.data))
	t.own(n)
	return n
}

// own files an ephemeral, container or TTL znode where it will be looked for.
func (t *Tree) own(n *znode) {
	switch {
	case n.owner == 0:
	case isEphemeral(n.owner):
		s := t.sessions[n.owner]
		s.ephemerals = append(s.ephemerals, n)
	default:
		t.sweep[n] = struct{}{}
	}
}

// detach takes n out of the tree and gives its place among its siblings.
func (t *Tree) detach(n *znode) int {
	at := n.parent.removeChild(n)
	t.nodes--
	t.bytes -= int64(len(n.name) + len(n.data))
	switch {
	case n.owner == 0:
	case isEphemeral(n.owner):
		if s := t.sessions[n.owner]; s != nil {
			i := slices.Index(s.ephemerals, n)
			s.ephemerals = slices.Delete(s.ephemerals, i, i+1)
		}
	default:
		delete(t.sweep, n)
	}
	return at
}

// sharedName keeps one copy of the short names that recur in every topic
// (state, partitions, 0, 1, ...); the caller's string may alias a long path.
func (t *Tree) sharedName(name string) string {
	const short = 12
	if len(name) > short {
		return strings.Clone(name)
	}
	if s, ok := t.names[name]; ok {
		return s
	}
	name = strings.Clone(name)
	if len(t.names) < maxNames {
		t.names[name] = name
	}
	return name
}

// Session tells the time-out and password of a live session.
func (t *Tree) Session(id int64) (timeoutMs int32, password [16]byte, ok bool) {
	s := t.sessions[id]
	if s == nil {
		return 0, password, false
	}
	return s.timeoutMs, s.password, true
}

// SessionIDs lists the live sessions in order.
func (t *Tree) SessionIDs() []int64 {
	ids := make([]int64, 0, len(t.sessions))
	for id := range t.sessions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Due lists, in order, containers that have lost their last child and TTL
// znodes without children whose time is over. The caller deletes them by
// transactions.
func (t *Tree) Due(nowMs int64) []string {
	var due []string
	for n := range t.sweep {
		if n.kids.len() > 0 {
			continue
		}
		if n.owner == containerOwner && n.creates > 0 || isTTL(n.owner) && n.mtimeMs+n.owner&maxTTLMs <= nowMs {
			due = append(due, n.path())
		}
	}
	slices.Sort(due)
	return due
}

// aclTable keeps each distinct access list once.
type aclTable struct {
	lists [][]proto.ACL
	ids   map[string]uint16
}

var openACL = []proto.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

// id gives the number of a list; false if the table is full.
func (a *aclTable) id(list []proto.ACL) (uint16, bool) {
	key := string(proto.AppendACLs(nil, list))
	if id, ok := a.ids[key]; ok {
		return id, true
	}
	if len(a.lists) > 0xffff {
		return 0, false
	}
	if a.ids == nil {
		a.ids = map[string]uint16{}
	}
	id := uint16(len(a.lists))
	a.ids[key], a.lists = id, append(a.lists, slices.Clone(list))
	return id, true
}

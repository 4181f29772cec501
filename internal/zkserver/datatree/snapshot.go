package datatree

import (
	"errors"
	"fmt"
	"hash/crc64"
	"slices"

	"kbench/internal/zkserver/proto"
)

// Record types of a snapshot, in the order they come.
const (
	recHead    byte = 1 // zxid, number of sessions, access lists and znodes
	recSession byte = 2
	recACL     byte = 3
	recNode    byte = 4 // in preorder, with the depth
)

// Snapshot emits the tree as records. The slice given to emit is reused.
func (t *Tree) Snapshot(emit func(rec []byte) error) error {
	b := []byte{recHead}
	b = proto.AppendInt64(b, t.zxid)
	b = proto.AppendInt32(b, int32(len(t.sessions)))
	b = proto.AppendInt32(b, int32(len(t.acls.lists)))
	b = proto.AppendInt64(b, int64(t.nodes))
	if err := emit(b); err != nil {
		return err
	}
	for _, id := range t.SessionIDs() {
		s := t.sessions[id]
		b = append(b[:0], recSession)
		b = proto.AppendInt64(b, id)
		b = proto.AppendInt32(b, s.timeoutMs)
		b = proto.AppendBuffer(b, s.password[:])
		if err := emit(b); err != nil {
			return err
		}
	}
	for _, list := range t.acls.lists {
		b = proto.AppendACLs(append(b[:0], recACL), list)
		if err := emit(b); err != nil {
			return err
		}
	}
	return t.root.snapshot(0, &b, emit)
}

func (n *znode) snapshot(depth int32, buf *[]byte, emit func([]byte) error) error {
	b := append((*buf)[:0], recNode)
	b = proto.AppendInt32(b, depth)
	b = n.append(b)
	*buf = b
	if err := emit(b); err != nil || n.kids == nil {
		return err
	}
	for _, k := range n.kids.list {
		if err := k.snapshot(depth+1, buf, emit); err != nil {
			return err
		}
	}
	return nil
}

func (n *znode) append(b []byte) []byte {
	b = proto.AppendString(b, n.name)
	if n.null {
		b = proto.AppendInt32(b, -1)
	} else {
		b = proto.AppendString(b, n.data)
	}
	for _, v := range [...]int64{n.czxid, n.mzxid, n.pzxid, n.ctimeMs, n.mtimeMs, n.owner} {
		b = proto.AppendInt64(b, v)
	}
	for _, v := range [...]int32{n.version, n.creates, n.avers, int32(n.acl)} {
		b = proto.AppendInt32(b, v)
	}
	return b
}

func readNode(r *proto.Reader) *znode {
	n := &znode{name: r.String()}
	n.setData(r.Buffer())
	for _, p := range [...]*int64{&n.czxid, &n.mzxid, &n.pzxid, &n.ctimeMs, &n.mtimeMs, &n.owner} {
		*p = r.Int64()
	}
	for _, p := range [...]*int32{&n.version, &n.creates, &n.avers} {
		*p = r.Int32()
	}
	n.acl = uint16(r.Int32())
	return n
}

// Loader builds a tree from the records of a snapshot.
type Loader struct {
	t        *Tree
	path     []*znode // from the root to the last znode
	sessions int32
	acls     int32
	nodes    int64
}

// NewLoader starts with nothing; Add takes the records in order.
func NewLoader() *Loader { return &Loader{} }

var errOrder = errors.New("records of the snapshot are out of order")

// Add takes the next record; it keeps nothing of rec.
func (l *Loader) Add(rec []byte) error {
	if len(rec) == 0 {
		return proto.ErrShort
	}
	if (rec[0] == recHead) != (l.t == nil) {
		return errOrder
	}
	r := proto.NewReader(rec[1:])
	switch rec[0] {
	case recHead:
		l.t = New()
		l.t.root, l.t.nodes, l.t.bytes, l.t.acls = nil, 0, 0, aclTable{}
		l.t.zxid, l.sessions, l.acls, l.nodes = r.Int64(), r.Int32(), r.Int32(), r.Int64()
	case recSession:
		id, s := r.Int64(), &session{timeoutMs: r.Int32()}
		copy(s.password[:], r.Buffer())
		l.t.sessions[id] = s
	case recACL:
		l.t.acls.id(r.ACLs())
	case recNode:
		depth, n := r.Int32(), readNode(r)
		if r.Err() == nil {
			return l.place(int(depth), n)
		}
	default:
		return fmt.Errorf("snapshot record of unknown type %d", rec[0])
	}
	return r.Err()
}

func (l *Loader) place(depth int, n *znode) error {
	if depth > len(l.path) || depth < 0 || (depth == 0) != (l.t.root == nil) || int(n.acl) >= len(l.t.acls.lists) {
		return errOrder
	}
	if isEphemeral(n.owner) && l.t.sessions[n.owner] == nil {
		return fmt.Errorf("ephemeral %q of session 0x%x, which is not in the snapshot", n.name, n.owner)
	}
	if depth == 0 {
		l.t.root, l.t.nodes, l.t.bytes = n, 1, int64(len(n.data))
	} else {
		parent := l.path[depth-1]
		if parent.child(n.name) != nil {
			return errOrder
		}
		l.t.attach(parent, n.name, n)
	}
	l.path = append(l.path[:depth], n)
	return nil
}

// Tree gives the finished tree, or an error if records are missing.
func (l *Loader) Tree() (*Tree, error) {
	if l.t == nil || l.t.root == nil || int(l.sessions) != len(l.t.sessions) || int(l.acls) != len(l.t.acls.lists) || l.nodes != int64(l.t.nodes) {
		return nil, errors.New("snapshot is not complete")
	}
	return l.t, nil
}

// Digest is equal for equal trees, whatever way they came to be: it covers
// zxid, sessions, paths, data, stats and access lists, not the order of
// children.
func (t *Tree) Digest() uint64 {
	tab := crc64.MakeTable(crc64.ECMA)
	b := proto.AppendInt64(nil, t.zxid)
	for _, id := range t.SessionIDs() {
		s := t.sessions[id]
		b = proto.AppendInt32(proto.AppendInt64(b, id), s.timeoutMs)
		b = append(b, s.password[:]...)
	}
	sum := crc64.Checksum(b, tab)
	var walk func(n *znode, path uint64) uint64
	walk = func(n *znode, path uint64) uint64 {
		own := crc64.Update(path, tab, n.appendComparable(b[:0], t))
		sum := own
		if n.kids != nil {
			for _, k := range n.kids.list {
				sum += walk(k, crc64.Update(path, tab, append([]byte(k.name), 0)))
			}
		}
		return sum
	}
	return sum + walk(t.root, 1)
}

func (n *znode) appendComparable(b []byte, t *Tree) []byte {
	m := *n
	m.acl = 0
	return proto.AppendACLs(m.append(b), slices.Clone(t.acls.lists[n.acl]))
}

package datatree

import (
	"strings"

	"kbench/internal/zkserver/proto"
)

// View is a znode as a reader sees it. It is valid until the next Apply.
type View struct {
	n *znode
	t *Tree
}

// Get finds a znode.
func (t *Tree) Get(path string) (View, bool) {
	n := t.find(path)
	return View{n: n, t: t}, n != nil
}

// Stat is the znode's stat.
func (v View) Stat() proto.Stat { return v.n.stat() }

// AppendData appends the data as a jute buffer, -1 for null.
func (v View) AppendData(b []byte) []byte {
	if v.n.null {
		return proto.AppendInt32(b, -1)
	}
	return proto.AppendString(b, v.n.data)
}

// AppendChildren appends the names of the children as a jute vector, in an
// order that depends on the history of the tree alone.
func (v View) AppendChildren(b []byte) []byte {
	b = proto.AppendInt32(b, int32(v.n.kids.len()))
	if v.n.kids == nil {
		return b
	}
	for _, k := range v.n.kids.list {
		b = proto.AppendString(b, k.name)
	}
	return b
}

// ACL is the znode's access list, shared: the caller does not change it.
func (v View) ACL() []proto.ACL { return v.t.acls.lists[v.n.acl] }

// Descendants counts the znodes below.
func (v View) Descendants() int32 { return descendants(v.n) }

func descendants(n *znode) int32 {
	if n.kids == nil {
		return 0
	}
	sum := int32(len(n.kids.list))
	for _, k := range n.kids.list {
		sum += descendants(k)
	}
	return sum
}

// Ephemerals lists a session's ephemerals under a prefix, in creation order.
func (t *Tree) Ephemerals(session int64, prefix string) []string {
	s := t.sessions[session]
	if s == nil {
		return nil
	}
	var out []string
	for _, n := range s.ephemerals {
		if p := n.path(); strings.HasPrefix(p, prefix) {
			out = append(out, p)
		}
	}
	return out
}

package datatree

import (
	"strings"

	"kbench/internal/zkserver/proto"
)

// znode is laid out to fit 112 bytes (a size class of the allocator): a
// cluster of a million partitions has two million of them.
type znode struct {
	name    string
	data    string
	parent  *znode
	kids    *children
	czxid   int64
	mzxid   int64
	pzxid   int64
	ctimeMs int64
	mtimeMs int64
	owner   int64 // session of an ephemeral, containerOwner, a TTL, or 0
	version int32
	creates int32 // children ever created: the number of the next sequential child
	avers   int32
	acl     uint16
	null    bool // data is null, which differs from empty
}

// containerOwner marks a container node, as EphemeralType does.
const containerOwner int64 = -1 << 63

// ttlMask marks a TTL node; the lower 40 bits are its milliseconds.
const (
	ttlMask  int64 = -1 << 56
	maxTTLMs int64 = 1<<40 - 1
)

func ttlOwner(ms int64) int64 { return ttlMask | ms }

// isEphemeral says whether owner is a session's.
func isEphemeral(owner int64) bool {
	return owner != 0 && owner != containerOwner && owner&ttlMask != ttlMask
}

func isTTL(owner int64) bool { return owner != containerOwner && owner&ttlMask == ttlMask }

func (n *znode) stat() proto.Stat {
	k := int32(n.kids.len())
	return proto.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, CtimeMs: n.ctimeMs, MtimeMs: n.mtimeMs,
		Version: n.version, Cversion: 2*n.creates - k, Aversion: n.avers,
		EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: k,
	}
}

func (n *znode) setData(b []byte) { n.data, n.null = string(b), b == nil }

// path builds the full path by walking up.
func (n *znode) path() string {
	if n.parent == nil {
		return "/"
	}
	size := 0
	for m := n; m.parent != nil; m = m.parent {
		size += len(m.name) + 1
	}
	buf := make([]byte, size)
	for m := n; m.parent != nil; m = m.parent {
		size -= len(m.name)
		copy(buf[size:], m.name)
		size--
		buf[size] = '/'
	}
	return string(buf)
}

// children keeps a znode's children in a stable order that depends on the
// history alone: a list, with an index once it is long.
type children struct {
	list  []*znode
	index map[string]int32
}

// indexAt is the list's length from which it gets an index.
const indexAt = 12

func (c *children) len() int {
	if c == nil {
		return 0
	}
	return len(c.list)
}

func (c *children) find(name string) int {
	if c == nil {
		return -1
	}
	if c.index != nil {
		if i, ok := c.index[name]; ok {
			return int(i)
		}
		return -1
	}
	for i, n := range c.list {
		if n.name == name {
			return i
		}
	}
	return -1
}

func (n *znode) child(name string) *znode {
	if i := n.kids.find(name); i >= 0 {
		return n.kids.list[i]
	}
	return nil
}

func (n *znode) addChild(k *znode) {
	if n.kids == nil {
		n.kids = &children{list: make([]*znode, 0, 1)}
	}
	c := n.kids
	c.list = append(c.list, k)
	switch {
	case c.index != nil:
		c.index[k.name] = int32(len(c.list) - 1)
	case len(c.list) >= indexAt:
		c.index = make(map[string]int32, 2*indexAt)
		for i, m := range c.list {
			c.index[m.name] = int32(i)
		}
	}
}

// removeChild puts the last child in the place of k and gives that place, so
// that an undo can put k back exactly where it was.
func (n *znode) removeChild(k *znode) int {
	c := n.kids
	i, last := c.find(k.name), len(c.list)-1
	moved := c.list[last]
	c.list[i], c.list[last] = moved, nil
	c.list = c.list[:last]
	if c.index != nil {
		c.index[moved.name] = int32(i)
		delete(c.index, k.name)
	}
	if last == 0 {
		n.kids = nil
	}
	return i
}

// restoreChild undoes removeChild.
func (n *znode) restoreChild(k *znode, at int) {
	n.addChild(k)
	c := n.kids
	last := len(c.list) - 1
	if at == last {
		return
	}
	c.list[at], c.list[last] = c.list[last], c.list[at]
	if c.index != nil {
		c.index[c.list[at].name], c.index[c.list[last].name] = int32(at), int32(last)
	}
}

// splitPath parts a valid path into its parent's path and the last name.
func splitPath(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}

// validPath follows PathUtils.validatePath.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	start := 1
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if part := path[start:i]; part == "" || part == "." || part == ".." {
			return false
		}
		start = i + 1
	}
	for _, r := range path {
		if r < 0x20 || (r >= 0x7f && r <= 0x9f) || (r >= 0xd800 && r <= 0xf8ff) || (r >= 0xfff0 && r <= 0xffff) {
			return false
		}
	}
	return true
}

package zkcluster

import (
	"slices"
	"strings"
)

// znode is one node of the tree. Its data is never changed in place.
type znode struct {
	data         any
	version      int32
	czxid, mzxid int64
	pzxid        int64    // of the last change among its children
	owner        int64    // session of an ephemeral node, else 0
	sequence     int64    // for sequential children
	children     []string // names, sorted
}

// tree is what ZooKeeper holds.
type tree struct {
	nodes map[string]*znode
	zxid  int64
}

func newTree() *tree { return &tree{nodes: map[string]*znode{"/": {}}} }

// parent splits a path; the parent of a top node is "/".
func parent(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}

func (t *tree) create(path string, data any, owner int64) *znode {
	dir, name := parent(path)
	up := t.nodes[dir]
	at, _ := slices.BinarySearch(up.children, name)
	// A reply may hold the old list.
	list := make([]string, 0, len(up.children)+1)
	up.children = append(append(append(list, up.children[:at]...), name), up.children[at:]...)
	up.pzxid = t.zxid
	n := &znode{data: data, czxid: t.zxid, mzxid: t.zxid, pzxid: t.zxid, owner: owner}
	t.nodes[path] = n
	return n
}

func (t *tree) remove(path string) {
	dir, name := parent(path)
	up := t.nodes[dir]
	at, _ := slices.BinarySearch(up.children, name)
	list := make([]string, 0, len(up.children))
	up.children = append(append(list, up.children[:at]...), up.children[at+1:]...)
	up.pzxid = t.zxid
	delete(t.nodes, path)
}

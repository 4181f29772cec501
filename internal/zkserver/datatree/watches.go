package datatree

import (
	"slices"

	"kbench/internal/zkserver/proto"
)

// ConnID names the connection a watch belongs to. Watches end with their
// connection; clients set them again with setWatches.
type ConnID int64

// Watches is the table of one-shot watches.
type Watches struct {
	data  watchTable // of getData and exists
	child watchTable // of getChildren
}

type watchTable struct {
	byPath map[string][]ConnID
	byConn map[ConnID]map[string]struct{}
}

// NewWatches gives an empty table.
func NewWatches() *Watches {
	mk := func() watchTable {
		return watchTable{byPath: map[string][]ConnID{}, byConn: map[ConnID]map[string]struct{}{}}
	}
	return &Watches{data: mk(), child: mk()}
}

// AddData sets a watch of getData or exists; a second one is no second event.
func (w *Watches) AddData(c ConnID, path string) { w.data.add(c, path) }

// AddChild sets a watch of getChildren.
func (w *Watches) AddChild(c ConnID, path string) { w.child.add(c, path) }

// Drop forgets all watches of a connection.
func (w *Watches) Drop(c ConnID) {
	w.data.drop(c)
	w.child.drop(c)
}

// Len is the number of watches set.
func (w *Watches) Len() int { return w.data.len() + w.child.len() }

// Fire calls tell for every watcher of an event and forgets those watches. A
// watcher of a deleted znode's data and children is told once.
func (w *Watches) Fire(e Event, tell func(ConnID)) {
	var told []ConnID
	if e.Type != proto.NodeChildrenChanged {
		told = w.data.take(e.Path)
		for _, c := range told {
			tell(c)
		}
	}
	if e.Type == proto.NodeChildrenChanged || e.Type == proto.NodeDeleted {
		for _, c := range w.child.take(e.Path) {
			if !slices.Contains(told, c) {
				tell(c)
			}
		}
	}
}

func (w *watchTable) add(c ConnID, path string) {
	paths := w.byConn[c]
	if paths == nil {
		paths = map[string]struct{}{}
		w.byConn[c] = paths
	}
	if _, dup := paths[path]; dup {
		return
	}
	paths[path] = struct{}{}
	w.byPath[path] = append(w.byPath[path], c)
}

func (w *watchTable) take(path string) []ConnID {
	conns, ok := w.byPath[path]
	if !ok {
		return nil
	}
	delete(w.byPath, path)
	for _, c := range conns {
		delete(w.byConn[c], path)
	}
	return conns
}

func (w *watchTable) drop(c ConnID) {
	for path := range w.byConn[c] {
		rest := slices.DeleteFunc(w.byPath[path], func(o ConnID) bool { return o == c })
		if len(rest) == 0 {
			delete(w.byPath, path)
		} else {
			w.byPath[path] = rest
		}
	}
	delete(w.byConn, c)
}

func (w *watchTable) len() int {
	n := 0
	for _, paths := range w.byConn {
		n += len(paths)
	}
	return n
}

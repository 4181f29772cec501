package etcdraft

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// anchorFile is beside the segments; the segments say the rest.
const anchorFile = "raft-index"

// maxAnchors bounds what the file keeps: the one of the log start, and those of
// a snapshot that came and of one that was taken.
const maxAnchors = 4

// anchor is the index of the entry that ends at an offset.
type anchor struct {
	end   kafka.Offset
	index uint64
}

// anchors are those of a log, by offset.
type anchors struct {
	fs   metalog.FS
	path string
	list []anchor
}

// openAnchors reads the file; a log from offset 0 needs none.
func openAnchors(fs metalog.FS, dir string, start kafka.Offset) (anchors, error) {
	a := anchors{fs: fs, path: filepath.Join(dir, anchorFile)}
	if start == 0 {
		a.list = []anchor{{}}
	}
	b, err := fs.ReadFile(a.path)
	if errors.Is(err, os.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("read %s: %w", a.path, err)
	}
	for line := range strings.Lines(string(b)) {
		var at anchor
		if n, err := fmt.Sscanf(line, "%d %d\n", &at.end, &at.index); n != 2 || err != nil || at.end < 0 {
			return a, fmt.Errorf("%s: line %q is not an offset and an index: restore the directory, or remove it and let the node get the log again from the quorum", a.path, strings.TrimSpace(line))
		}
		if at.end > 0 && at.end >= start {
			a.list = append(a.list, at)
		}
	}
	return a, nil
}

// add makes an anchor durable, which must come before the log goes that it
// replaces.
func (a *anchors) add(at anchor) error {
	for _, have := range a.list {
		if have.end >= at.end {
			return nil
		}
	}
	a.list = append(a.list, at)
	if len(a.list) > maxAnchors { // the first belongs to the log start
		a.list = append(a.list[:1], a.list[2:]...)
	}
	var b []byte
	for _, have := range a.list {
		b = fmt.Appendf(b, "%d %d\n", have.end, have.index)
	}
	if err := metalog.WriteAtomic(a.fs, a.path, b); err != nil {
		return fmt.Errorf("write %s: %w", a.path, err)
	}
	return nil
}

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

// The files beside the segments, which say the rest.
const (
	anchorFile = "raft-index"
	// appliedFile has the end of the last change of the voters that took effect
	// here: a node that starts again must not forget that it is committed.
	appliedFile = "raft-voters"
)

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
	read, err := readAnchors(fs, a.path)
	for _, at := range read {
		if at.end > 0 && at.end >= start {
			a.list = append(a.list, at)
		}
	}
	return a, err
}

// readAnchors reads a file of anchors, none where it is not there.
func readAnchors(fs metalog.FS, path string) ([]anchor, error) {
	b, err := fs.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var list []anchor
	for line := range strings.Lines(string(b)) {
		var at anchor
		if n, err := fmt.Sscanf(line, "%d %d\n", &at.end, &at.index); n != 2 || err != nil || at.end < 0 {
			return nil, fmt.Errorf("%s: line %q is not an offset and an index: restore the directory, or remove it and let the node get the log again from the quorum", path, strings.TrimSpace(line))
		}
		list = append(list, at)
	}
	return list, nil
}

// writeAnchors makes a file of anchors durable.
func writeAnchors(fs metalog.FS, path string, list ...anchor) error {
	var b []byte
	for _, at := range list {
		b = fmt.Appendf(b, "%d %d\n", at.end, at.index)
	}
	if err := metalog.WriteAtomic(fs, path, b); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
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
	return writeAnchors(a.fs, a.path, a.list...)
}

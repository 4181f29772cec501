package zkcluster

import "errors"

// What a request may end with.
var (
	errNoNode     = errors.New("no node")
	errNodeExists = errors.New("node exists")
	errBadVersion = errors.New("bad version")
	errNotEmpty   = errors.New("not empty")
	errFenced     = errors.New("fenced")
	errExpired    = errors.New("session expired")
	errKilled     = errors.New("process killed")
)

type opKind uint8

const (
	opGet opKind = iota
	opExists
	opChildren
	opCreate
	opSet
	opDelete
	opElect // a multi: create path for the session and set /controller_epoch
)

const (
	anyVersion int32 = -1
	noFence    int32 = -1
)

// op is one request of a client.
type op struct {
	kind       opKind
	path       string
	data       any
	version    int32
	fence      int32 // of /controller_epoch
	ephemeral  bool
	sequential bool
	writer     *candidate // whose machine wants it; nil for others

	watch  bool // decided when it is sent
	resent bool
	done   bool // carried out, a write
	group  *group
	index  int
}

// result is its outcome.
type result struct {
	err      error
	data     any
	children []string
	created  string
	exists   bool
	version  int32
	czxid    int64
	owner    int64
	resent   bool // a first reply was lost
}

// group is a set of requests that a thread waits for.
type group struct {
	p       *proc
	left    int
	results []result
}

func get(path string) op      { return op{kind: opGet, path: path, fence: noFence} }
func exists(path string) op   { return op{kind: opExists, path: path, fence: noFence} }
func children(path string) op { return op{kind: opChildren, path: path, fence: noFence} }
func create(path string, data any) op {
	return op{kind: opCreate, path: path, data: data, fence: noFence}
}

func set(path string, data any, version int32) op {
	return op{kind: opSet, path: path, data: data, version: version, fence: noFence}
}

func remove(path string) op {
	return op{kind: opDelete, path: path, version: anyVersion, fence: noFence}
}

func (o op) fenced(version int32) op {
	o.fence = version
	return o
}

func (o op) isWrite() bool { return o.kind >= opCreate }

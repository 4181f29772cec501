package zk

import (
	gozk "github.com/go-zookeeper/zk"
)

type opKind uint8

const (
	opGet opKind = iota
	opExists
	opChildren
	opCreate
	opSet
	opDelete
	opCheck // of a version, in a multi
)

// AnyVersion skips the check of a znode's version.
const AnyVersion int32 = -1

// NoFence leaves a write outside of a fenced multi.
const NoFence int32 = -1

// Op is one request. Reads arm a watch iff their path is registered with Watch
// or WatchChildren.
type Op struct {
	kind    opKind
	path    string
	data    []byte
	flags   int32
	version int32
	fence   int32
}

// Get reads a znode's data.
func Get(path string) Op { return Op{kind: opGet, path: path} }

// Exists reads a znode's version; one that is not there is not an error, and
// its creation is then watched.
func Exists(path string) Op { return Op{kind: opExists, path: path} }

// Children lists the names of a znode's children, in no order.
func Children(path string) Op { return Op{kind: opChildren, path: path} }

// Create makes a persistent znode.
func Create(path string, data []byte) Op {
	return Op{kind: opCreate, path: path, data: data, fence: NoFence}
}

// CreateEphemeral makes a znode that ends with the session.
func CreateEphemeral(path string, data []byte) Op {
	return Op{kind: opCreate, path: path, data: data, flags: gozk.FlagEphemeral, fence: NoFence}
}

// CreateSequential makes a persistent znode with a number appended to its name.
// After a lost reply it may come to exist twice.
func CreateSequential(path string, data []byte) Op {
	return Op{kind: opCreate, path: path, data: data, flags: gozk.FlagSequence, fence: NoFence}
}

// Set writes a znode's data if its version is as given, or AnyVersion.
func Set(path string, data []byte, version int32) Op {
	return Op{kind: opSet, path: path, data: data, version: version, fence: NoFence}
}

// Delete removes a znode if its version is as given, or AnyVersion.
func Delete(path string, version int32) Op {
	return Op{kind: opDelete, path: path, version: version, fence: NoFence}
}

// Fenced makes a write conditional on /controller_epoch having the version
// given: Kafka's guard against a deposed controller (KAFKA-6082). Check and
// write are one multi; where the check fails the Result has ErrFenced. NoFence
// leaves the write as it was.
func (o Op) Fenced(epochVersion int32) Op {
	o.fence = epochVersion
	return o
}

// Path is what the Op reads or writes.
func (o *Op) Path() string { return o.path }

// perOpOverhead bounds the headers, ACL and lengths of one write and of its
// fence, in bytes.
const perOpOverhead = 160

// size estimates the bytes of the request, from above.
func (o *Op) size() int { return len(o.path) + len(o.data) + perOpOverhead }

// Result is the outcome of an Op.
type Result struct {
	Err      error
	Data     []byte   // Get; owned by the caller
	Children []string // Children
	Created  string   // Create: the path, with its number where sequential
	Exists   bool     // Exists
	Version  int32    // data version: Get, Exists, Set
	Czxid    int64    // Get, Exists, Set
	Owner    int64    // session that owns an ephemeral znode, else 0: Get, Exists
	CtimeMs  int64    // when it was created, by the server's clock: Get, Exists, Set
	// Resent: a first reply was lost, so the request may have been executed
	// twice: NodeExists, NoNode or BadVersion may be its own work.
	Resent bool
}

func (r *Result) stat(s *gozk.Stat) {
	if s != nil {
		r.Version, r.Czxid, r.Owner, r.CtimeMs = s.Version, s.Czxid, s.EphemeralOwner, s.Ctime
	}
}

package proto

import "fmt"

// Change is one write of a request: of create, delete, setData, setACL and
// check alone, or one operation of a multi.
type Change struct {
	Op      Op
	Path    string
	Data    []byte // aliases the frame; nil is ZooKeeper's null
	ACL     []ACL
	Flags   int32
	TTLMs   int64
	Version int32 // expected version, -1 for any
}

// WatchSet is what setWatches and setWatches2 ask for.
type WatchSet struct {
	RelativeZxid int64
	Data, Exist  []string
	Child        []string
	Persistent   bool // the client asked for persistent watches, which are not served
}

// Request is one decoded frame after the connect.
type Request struct {
	Xid     int32
	Op      Op
	Path    string
	Watch   bool
	Changes []Change // writes and check; one for each operation of a multi
	Reads   []Read   // of multiRead
	Watches *WatchSet
	Scheme  string // of auth
	Auth    []byte
	single  [1]Change
}

// Read is one operation of a multiRead: getData or getChildren.
type Read struct {
	Op   Op
	Path string
}

// IsWrite says whether the request may change state.
func (q *Request) IsWrite() bool { return len(q.Changes) > 0 && q.Op != OpCheck }

// DecodeRequest reads a request frame. A request of an unknown operation is
// returned with its header alone; the server answers it with Unimplemented.
func DecodeRequest(frame []byte) (*Request, error) {
	r := NewReader(frame)
	q := &Request{Xid: r.Int32(), Op: Op(r.Int32())}
	switch q.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpCheck:
		q.single[0] = decodeChange(r, q.Op)
		q.Changes = q.single[:]
	case OpMulti:
		q.Changes = decodeMulti(r)
	case OpMultiRead:
		q.Reads = decodeMultiRead(r)
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		q.Path, q.Watch = r.String(), r.Bool()
	case OpGetACL, OpSync, OpGetEphemerals, OpGetAllChildren:
		q.Path = r.String()
	case OpSetWatches, OpSetWatches2:
		q.Watches = decodeWatches(r, q.Op)
	case OpAuth:
		r.Int32()
		q.Scheme, q.Auth = r.String(), r.Buffer()
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("request xid %d, operation %d: %w", q.Xid, q.Op, err)
	}
	return q, nil
}

func decodeChange(r *Reader, op Op) Change {
	c := Change{Op: op, Version: -1, Path: r.String()}
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		c.Data, c.ACL, c.Flags = r.Buffer(), r.ACLs(), r.Int32()
		if op == OpCreateTTL {
			c.TTLMs = r.Int64()
		}
	case OpDelete, OpCheck:
		c.Version = r.Int32()
	case OpSetData:
		c.Data, c.Version = r.Buffer(), r.Int32()
	case OpSetACL:
		c.ACL, c.Version = r.ACLs(), r.Int32()
	}
	return c
}

// multiHeader reads the header before an operation of a multi; done ends it.
func multiHeader(r *Reader) (op Op, done bool) {
	op, done = Op(r.Int32()), r.Bool()
	r.Int32()
	return op, done || r.Err() != nil
}

func decodeMulti(r *Reader) []Change {
	var out []Change
	for {
		op, done := multiHeader(r)
		if done {
			return out
		}
		switch op {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
			out = append(out, decodeChange(r, op))
		default:
			r.err = fmt.Errorf("operation %d is not allowed in a multi", op)
			return nil
		}
	}
}

func decodeMultiRead(r *Reader) []Read {
	var out []Read
	for {
		op, done := multiHeader(r)
		if done {
			return out
		}
		if op != OpGetData && op != OpGetChildren {
			r.err = fmt.Errorf("operation %d is not allowed in a multiRead", op)
			return nil
		}
		out = append(out, Read{Op: op, Path: r.String()})
		r.Bool()
	}
}

func decodeWatches(r *Reader, op Op) *WatchSet {
	w := &WatchSet{RelativeZxid: r.Int64(), Data: r.Strings(), Exist: r.Strings(), Child: r.Strings()}
	if op == OpSetWatches2 {
		w.Persistent = len(r.Strings())+len(r.Strings()) > 0
	}
	return w
}

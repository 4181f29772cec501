package datatree

import "kbench/internal/zkserver/proto"

// Kind tells transactions apart; the values are on disk.
type Kind uint8

// The kinds of transactions.
const (
	OpenSession  Kind = 1 // Session begins with TimeoutMs and Password
	CloseSession Kind = 2 // Session ends, closed or expired; its ephemerals are deleted
	Write        Kind = 3 // Changes, all or none
)

// Txn is one entry of the transaction log.
type Txn struct {
	Zxid      int64 // grows by one from each to the next
	TimeMs    int64 // wall clock, ms since 1970; becomes ctime and mtime
	Kind      Kind
	Session   int64
	TimeoutMs int32
	Password  [16]byte
	Changes   []proto.Change
	Caller    *Caller // of a Write; not in the log
}

// OpResult is the outcome of one change.
type OpResult struct {
	Op   proto.Op // OpError if it failed or was undone
	Err  proto.Code
	Path string     // of a create: the name it got
	Stat proto.Stat // of create2 and its kin, setData, setACL
}

// Event is what watchers are told, in the order the server tells it.
type Event struct {
	Type proto.EventType
	Path string
}

// Result is the outcome of a transaction. It is the tree's and valid until the
// next Apply.
type Result struct {
	Err    proto.Code // of the first failed change
	Ops    []OpResult
	Events []Event
}

// Append encodes the transaction for the log.
func (t *Txn) Append(b []byte) []byte {
	b = append(b, byte(t.Kind))
	b = proto.AppendInt64(b, t.Zxid)
	b = proto.AppendInt64(b, t.TimeMs)
	b = proto.AppendInt64(b, t.Session)
	switch t.Kind {
	case OpenSession:
		b = proto.AppendInt32(b, t.TimeoutMs)
		b = proto.AppendBuffer(b, t.Password[:])
	case Write:
		b = proto.AppendInt32(b, int32(len(t.Changes)))
		for i := range t.Changes {
			b = appendChange(b, &t.Changes[i])
		}
	}
	return b
}

func appendChange(b []byte, c *proto.Change) []byte {
	b = proto.AppendInt32(b, int32(c.Op))
	b = proto.AppendString(b, c.Path)
	b = proto.AppendInt32(b, c.Version)
	switch c.Op {
	case proto.OpDelete, proto.OpCheck:
	case proto.OpSetData:
		b = proto.AppendBuffer(b, c.Data)
	case proto.OpSetACL:
		b = proto.AppendACLs(b, c.ACL)
	default:
		b = proto.AppendBuffer(b, c.Data)
		b = proto.AppendACLs(b, c.ACL)
		b = proto.AppendInt32(b, c.Flags)
		b = proto.AppendInt64(b, c.TTLMs)
	}
	return b
}

// DecodeTxn reads what Append wrote. The transaction aliases b.
func DecodeTxn(b []byte) (*Txn, error) {
	if len(b) == 0 {
		return nil, proto.ErrShort
	}
	r := proto.NewReader(b[1:])
	t := &Txn{Kind: Kind(b[0]), Zxid: r.Int64(), TimeMs: r.Int64(), Session: r.Int64()}
	switch t.Kind {
	case OpenSession:
		t.TimeoutMs = r.Int32()
		copy(t.Password[:], r.Buffer())
	case Write:
		n := int(r.Int32())
		if n < 0 || n > r.Remaining()/12 {
			return nil, proto.ErrShort
		}
		t.Changes = make([]proto.Change, 0, n)
		for range n {
			t.Changes = append(t.Changes, readChange(r))
		}
	}
	return t, r.Err()
}

func readChange(r *proto.Reader) proto.Change {
	c := proto.Change{Op: proto.Op(r.Int32()), Path: r.String(), Version: r.Int32()}
	switch c.Op {
	case proto.OpDelete, proto.OpCheck:
	case proto.OpSetData:
		c.Data = r.Buffer()
	case proto.OpSetACL:
		c.ACL = r.ACLs()
	default:
		c.Data, c.ACL, c.Flags, c.TTLMs = r.Buffer(), r.ACLs(), r.Int32(), r.Int64()
	}
	return c
}

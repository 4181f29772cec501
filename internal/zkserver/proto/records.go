package proto

// Stat is what ZooKeeper tells of a znode besides its data.
type Stat struct {
	Czxid          int64 // zxid that created it; Kafka's broker epoch
	Mzxid          int64 // zxid that last changed its data
	CtimeMs        int64 // wall clock of the creation, ms since 1970
	MtimeMs        int64 // wall clock of the last data change, ms since 1970
	Version        int32 // data changes since creation
	Cversion       int32 // creations and deletions of children
	Aversion       int32 // ACL changes
	EphemeralOwner int64 // session of an ephemeral, else 0
	DataLength     int32 // bytes
	NumChildren    int32
	Pzxid          int64 // zxid that last created or deleted a child
}

// Append encodes the stat: 68 bytes.
func (s *Stat) Append(b []byte) []byte {
	b = AppendInt64(b, s.Czxid)
	b = AppendInt64(b, s.Mzxid)
	b = AppendInt64(b, s.CtimeMs)
	b = AppendInt64(b, s.MtimeMs)
	b = AppendInt32(b, s.Version)
	b = AppendInt32(b, s.Cversion)
	b = AppendInt32(b, s.Aversion)
	b = AppendInt64(b, s.EphemeralOwner)
	b = AppendInt32(b, s.DataLength)
	b = AppendInt32(b, s.NumChildren)
	return AppendInt64(b, s.Pzxid)
}

// ACL is one entry of a znode's access list.
type ACL struct {
	Perms      int32
	Scheme, ID string
}

// ConnectRequest opens or takes up a session; the first frame of a connection.
type ConnectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	TimeoutMs       int32
	SessionID       int64 // 0 for a new session
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // clients before 3.4 send no flag and expect none back
}

// DecodeConnect reads the first frame.
func DecodeConnect(frame []byte) (ConnectRequest, error) {
	r := NewReader(frame)
	c := ConnectRequest{
		ProtocolVersion: r.Int32(), LastZxidSeen: r.Int64(), TimeoutMs: r.Int32(),
		SessionID: r.Int64(), Password: r.Buffer(),
	}
	if r.Err() == nil && r.Remaining() > 0 {
		c.ReadOnly, c.HasReadOnly = r.Bool(), true
	}
	return c, r.Err()
}

// AppendConnectResponse appends the answer to a ConnectRequest as a whole
// frame. A session of 0 tells the client that its session has expired.
func AppendConnectResponse(b []byte, timeoutMs int32, session int64, password []byte, withReadOnly bool) []byte {
	b, start := StartFrame(b)
	b = AppendInt32(b, 0)
	b = AppendInt32(b, timeoutMs)
	b = AppendInt64(b, session)
	b = AppendBuffer(b, password)
	if withReadOnly {
		b = AppendBool(b, false)
	}
	return FinishFrame(b, start)
}

// AppendReply appends a reply header; call it after StartFrame.
func AppendReply(b []byte, xid int32, zxid int64, err Code) []byte {
	return AppendInt32(AppendInt64(AppendInt32(b, xid), zxid), int32(err))
}

// AppendEvent appends a watch event as a whole frame.
func AppendEvent(b []byte, t EventType, path string) []byte {
	const syncConnected = 3
	b, start := StartFrame(b)
	b = AppendReply(b, XidNotification, -1, OK)
	b = AppendInt32(b, int32(t))
	b = AppendInt32(b, syncConnected)
	b = AppendString(b, path)
	return FinishFrame(b, start)
}

// AppendMultiHeader appends the header before each result of a multi; done
// ends the list.
func AppendMultiHeader(b []byte, op Op, done bool, err Code) []byte {
	return AppendInt32(AppendBool(AppendInt32(b, int32(op)), done), int32(err))
}

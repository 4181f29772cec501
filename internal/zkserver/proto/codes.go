package proto

import "strconv"

// Op is an operation code of ZooDefs.OpCode.
type Op int32

// The operations this server knows. Others are answered with Unimplemented.
const (
	OpNotify          Op = 0
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpCreateContainer Op = 19
	OpCreateTTL       Op = 21
	OpMultiRead       Op = 22
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpSASL            Op = 102
	OpGetEphemerals   Op = 103
	OpGetAllChildren  Op = 104
	OpSetWatches2     Op = 105
	OpWhoAmI          Op = 107
	OpCloseSession    Op = -11
	OpError           Op = -1
)

// Code is an error code of KeeperException.Code; zero is success.
type Code int32

// The codes this server answers with.
const (
	OK                      Code = 0
	RuntimeInconsistency    Code = -2
	Marshalling             Code = -5
	Unimplemented           Code = -6
	BadArguments            Code = -8
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	SessionMoved            Code = -118
)

var codeNames = map[Code]string{
	OK: "OK", RuntimeInconsistency: "RUNTIMEINCONSISTENCY", Marshalling: "MARSHALLINGERROR",
	Unimplemented: "UNIMPLEMENTED", BadArguments: "BADARGUMENTS", NoNode: "NONODE", BadVersion: "BADVERSION",
	NoChildrenForEphemerals: "NOCHILDRENFOREPHEMERALS", NodeExists: "NODEEXISTS", NotEmpty: "NOTEMPTY",
	SessionExpired: "SESSIONEXPIRED", InvalidACL: "INVALIDACL", AuthFailed: "AUTHFAILED", SessionMoved: "SESSIONMOVED",
}

// Error gives the code by ZooKeeper's name, or its number.
func (c Code) Error() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return "code " + strconv.Itoa(int(c))
}

// EventType is the kind of a watch event.
type EventType int32

// The watch events, by Watcher.Event.EventType.
const (
	NodeCreated         EventType = 1
	NodeDeleted         EventType = 2
	NodeDataChanged     EventType = 3
	NodeChildrenChanged EventType = 4
)

// Flags of create, by CreateMode.
const (
	Persistent              int32 = 0
	Ephemeral               int32 = 1
	PersistentSequential    int32 = 2
	EphemeralSequential     int32 = 3
	Container               int32 = 4
	PersistentTTL           int32 = 5
	PersistentSequentialTTL int32 = 6
)

// Xids with a meaning of their own.
const (
	XidNotification int32 = -1
	XidPing         int32 = -2
)

// DefaultMaxBuffer is jute.maxbuffer's default: the largest frame a server
// takes, in bytes.
const DefaultMaxBuffer = 0xfffff

package zk

// EventKind says what a Session noticed.
type EventKind int

// The kinds of event.
const (
	NodeCreated EventKind = iota + 1
	NodeDeleted
	NodeDataChanged
	NodeChildrenChanged
	// Disconnected: the connection broke; the session may still live.
	Disconnected
	// Reconnected: the same session goes on; its watches are armed again.
	Reconnected
	// Expired: the session is over, with its ephemeral nodes and watches. It is
	// the last event of a Session.
	Expired
)

var kindNames = [...]string{
	NodeCreated: "created", NodeDeleted: "deleted", NodeDataChanged: "data-changed",
	NodeChildrenChanged: "children-changed", Disconnected: "disconnected",
	Reconnected: "reconnected", Expired: "expired",
}

// String gives a short name.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Event is one change of a watched znode or of the session. Path is empty for
// the session's own events.
type Event struct {
	Kind EventKind
	Path string
}

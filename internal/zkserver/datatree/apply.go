package datatree

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"kbench/internal/zkserver/proto"
)

// undo says how to take back one change; entries are undone last first.
type undo struct {
	node  *znode
	saved before
	// created and deleted say what else to do; a deleted node returns to at.
	created, deleted bool
	at               int
	parentPzxid      int64
}

// before is what setData and setACL change.
type before struct {
	data    string
	null    bool
	acl     uint16
	version int32
	avers   int32
	mzxid   int64
	mtimeMs int64
}

func saveNode(n *znode) before {
	return before{data: n.data, null: n.null, acl: n.acl, version: n.version, avers: n.avers, mzxid: n.mzxid, mtimeMs: n.mtimeMs}
}

func (b *before) restore(n *znode) {
	n.data, n.null, n.acl, n.version, n.avers, n.mzxid, n.mtimeMs = b.data, b.null, b.acl, b.version, b.avers, b.mzxid, b.mtimeMs
}

// Apply executes a transaction: wholly, or not at all with the first error in
// Result.Err. The zxid advances only when it succeeds.
func (t *Tree) Apply(x *Txn) *Result {
	t.res.Err, t.res.Ops, t.res.Events, t.undo = proto.OK, t.res.Ops[:0], t.res.Events[:0], t.undo[:0]
	switch x.Kind {
	case OpenSession:
		t.sessions[x.Session] = &session{timeoutMs: x.TimeoutMs, password: x.Password}
	case CloseSession:
		t.closeSession(x)
	case Write:
		t.write(x)
	default:
		t.res.Err = proto.Unimplemented
	}
	if t.res.Err == proto.OK {
		t.zxid = x.Zxid
	}
	clear(t.undo)
	return &t.res
}

func (t *Tree) closeSession(x *Txn) {
	s := t.sessions[x.Session]
	if s == nil {
		t.res.Err = proto.SessionExpired
		return
	}
	delete(t.sessions, x.Session) // first, so that detach leaves the list alone
	slices.SortFunc(s.ephemerals, byCreation)
	for _, n := range s.ephemerals {
		t.remove(n, x.Zxid)
	}
}

// byCreation orders ephemerals by czxid and, within one multi, by path, so that
// a tree from the log and one from a snapshot delete them in the same order.
func byCreation(a, b *znode) int {
	if c := cmp.Compare(a.czxid, b.czxid); c != 0 {
		return c
	}
	return strings.Compare(a.path(), b.path())
}

func (t *Tree) write(x *Txn) {
	for i := range x.Changes {
		res := t.change(x, &x.Changes[i])
		t.res.Ops = append(t.res.Ops, res)
		if res.Err != proto.OK {
			t.fail(x, i)
			return
		}
	}
}

// fail undoes the changes before change i and gives the results ZooKeeper
// gives: 0 for those before, its error, and RuntimeInconsistency for the rest.
func (t *Tree) fail(x *Txn, i int) {
	t.res.Err = t.res.Ops[i].Err
	for j := len(t.undo) - 1; j >= 0; j-- {
		t.takeBack(&t.undo[j])
	}
	t.res.Events = t.res.Events[:0]
	for j := range t.res.Ops {
		t.res.Ops[j] = OpResult{Op: proto.OpError, Err: t.res.Ops[j].Err}
	}
	for range len(x.Changes) - i - 1 {
		t.res.Ops = append(t.res.Ops, OpResult{Op: proto.OpError, Err: proto.RuntimeInconsistency})
	}
}

func (t *Tree) takeBack(u *undo) {
	switch {
	case u.created:
		t.detach(u.node)
		u.node.parent.creates--
		u.node.parent.pzxid = u.parentPzxid
	case u.deleted:
		n := u.node
		n.parent.restoreChild(n, u.at)
		n.parent.pzxid = u.parentPzxid
		t.nodes++
		t.bytes += int64(len(n.name) + len(n.data))
		t.own(n)
	default:
		t.bytes += int64(len(u.saved.data) - len(u.node.data))
		u.saved.restore(u.node)
	}
}

func (t *Tree) change(x *Txn, c *proto.Change) OpResult {
	switch c.Op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return t.create(x, c)
	case proto.OpDelete:
		return t.delete(x, c)
	case proto.OpSetData:
		return t.setData(x, c)
	case proto.OpSetACL:
		return t.setACL(x, c)
	case proto.OpCheck:
		return t.check(x, c)
	}
	return failed(proto.Unimplemented)
}

func failed(c proto.Code) OpResult { return OpResult{Op: proto.OpError, Err: c} }

// create follows PrepRequestProcessor: the order of the checks decides which
// error a client sees.
func (t *Tree) create(x *Txn, c *proto.Change) OpResult {
	owner, sequential, code := t.createOwner(x, c)
	if code != proto.OK {
		return failed(code)
	}
	if !strings.Contains(c.Path, "/") || strings.ContainsRune(c.Path, 0) {
		return failed(proto.BadArguments)
	}
	if len(c.ACL) == 0 {
		return failed(proto.InvalidACL)
	}
	parentPath, name := splitPath(c.Path)
	parent := t.find(parentPath)
	if parent == nil {
		return failed(proto.NoNode)
	}
	if !t.acls.allows(parent.acl, PermCreate, x.Caller) {
		return failed(proto.NoAuth)
	}
	path := c.Path
	if sequential {
		suffix := fmt.Sprintf("%010d", parent.creates)
		path, name = path+suffix, name+suffix
	}
	if !validPath(path) {
		return failed(proto.BadArguments)
	}
	if path == "/" {
		return failed(proto.NodeExists)
	}
	if parent.child(name) != nil {
		return failed(proto.NodeExists)
	}
	if isEphemeral(parent.owner) {
		return failed(proto.NoChildrenForEphemerals)
	}
	acl, ok := t.acls.id(c.ACL)
	if !ok {
		return failed(proto.InvalidACL)
	}
	n := &znode{czxid: x.Zxid, mzxid: x.Zxid, pzxid: x.Zxid, ctimeMs: x.TimeMs, mtimeMs: x.TimeMs, owner: owner, acl: acl}
	n.setData(c.Data)
	t.undo = append(t.undo, undo{node: n, created: true, parentPzxid: parent.pzxid})
	t.attach(parent, name, n)
	parent.creates++
	parent.pzxid = x.Zxid
	t.event(proto.NodeCreated, path)
	t.event(proto.NodeChildrenChanged, orRoot(parentPath))
	return OpResult{Op: c.Op, Path: path, Stat: n.stat()}
}

// createOwner reads the create mode and gives the owner field it leads to.
func (t *Tree) createOwner(x *Txn, c *proto.Change) (owner int64, sequential bool, code proto.Code) {
	switch c.Flags {
	case proto.Persistent:
	case proto.PersistentSequential:
		sequential = true
	case proto.Ephemeral, proto.EphemeralSequential:
		owner, sequential = x.Session, c.Flags == proto.EphemeralSequential
		if t.sessions[x.Session] == nil {
			return 0, false, proto.SessionExpired
		}
	case proto.Container:
		owner = containerOwner
	case proto.PersistentTTL, proto.PersistentSequentialTTL:
		if c.TTLMs <= 0 || c.TTLMs > maxTTLMs {
			return 0, false, proto.BadArguments
		}
		owner, sequential = ttlOwner(c.TTLMs), c.Flags == proto.PersistentSequentialTTL
	default:
		return 0, false, proto.BadArguments
	}
	return owner, sequential, proto.OK
}

func (t *Tree) delete(x *Txn, c *proto.Change) OpResult {
	if c.Path == "" || c.Path[0] != '/' || c.Path == "/" || special(c.Path) {
		return failed(proto.BadArguments)
	}
	n := t.find(c.Path)
	switch {
	case n == nil:
		return failed(proto.NoNode)
	case !t.acls.allows(n.parent.acl, PermDelete, x.Caller):
		return failed(proto.NoAuth)
	case c.Version != -1 && c.Version != n.version:
		return failed(proto.BadVersion)
	case n.kids.len() > 0:
		return failed(proto.NotEmpty)
	}
	t.remove(n, x.Zxid)
	return OpResult{Op: c.Op}
}

func special(path string) bool {
	return path == "/zookeeper" || path == "/zookeeper/quota" || path == "/zookeeper/config"
}

func (t *Tree) remove(n *znode, zxid int64) {
	path, parent := n.path(), n.parent
	at := t.detach(n)
	t.undo = append(t.undo, undo{node: n, deleted: true, at: at, parentPzxid: parent.pzxid})
	parent.pzxid = zxid
	t.event(proto.NodeDeleted, path)
	p, _ := splitPath(path)
	t.event(proto.NodeChildrenChanged, orRoot(p))
}

func (t *Tree) setData(x *Txn, c *proto.Change) OpResult {
	if !validPath(c.Path) {
		return failed(proto.BadArguments)
	}
	n := t.find(c.Path)
	if n == nil {
		return failed(proto.NoNode)
	}
	if !t.acls.allows(n.acl, PermWrite, x.Caller) {
		return failed(proto.NoAuth)
	}
	if c.Version != -1 && c.Version != n.version {
		return failed(proto.BadVersion)
	}
	t.undo = append(t.undo, undo{node: n, saved: saveNode(n)})
	t.bytes += int64(len(c.Data) - len(n.data))
	n.setData(c.Data)
	n.version = nextVersion(n.version)
	n.mzxid, n.mtimeMs = x.Zxid, x.TimeMs
	t.event(proto.NodeDataChanged, c.Path)
	return OpResult{Op: c.Op, Stat: n.stat()}
}

// nextVersion skips -1, which means "any version" in a request.
func nextVersion(v int32) int32 {
	if v == math.MaxInt32 {
		return math.MinInt32
	}
	if v == -2 {
		return 0
	}
	return v + 1
}

func (t *Tree) setACL(x *Txn, c *proto.Change) OpResult {
	if !validPath(c.Path) {
		return failed(proto.BadArguments)
	}
	if len(c.ACL) == 0 {
		return failed(proto.InvalidACL)
	}
	n := t.find(c.Path)
	if n == nil {
		return failed(proto.NoNode)
	}
	if !t.acls.allows(n.acl, PermAdmin, x.Caller) {
		return failed(proto.NoAuth)
	}
	if c.Version != -1 && c.Version != n.avers {
		return failed(proto.BadVersion)
	}
	acl, ok := t.acls.id(c.ACL)
	if !ok {
		return failed(proto.InvalidACL)
	}
	t.undo = append(t.undo, undo{node: n, saved: saveNode(n)})
	n.acl = acl
	n.avers = nextVersion(n.avers)
	return OpResult{Op: c.Op, Stat: n.stat()}
}

func (t *Tree) check(x *Txn, c *proto.Change) OpResult {
	n := t.find(c.Path)
	if !validPath(c.Path) || n == nil {
		return failed(proto.NoNode)
	}
	if !t.acls.allows(n.acl, PermRead, x.Caller) {
		return failed(proto.NoAuth)
	}
	if c.Version != -1 && c.Version != n.version {
		return failed(proto.BadVersion)
	}
	return OpResult{Op: c.Op}
}

func (t *Tree) event(e proto.EventType, path string) {
	t.res.Events = append(t.res.Events, Event{Type: e, Path: path})
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

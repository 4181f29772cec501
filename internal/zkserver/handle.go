package zkserver

import (
	"crypto/sha1" //nolint:gosec // ZooKeeper's digest scheme is SHA-1
	"encoding/base64"
	"net"
	"slices"
	"strconv"
	"strings"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
	"kbench/internal/zkserver/txnlog"
)

func hex(id int64) string { return "0x" + strconv.FormatUint(uint64(id), 16) }

// handle executes one event.
func (c *core) handle(e *event) {
	k := e.conn
	switch {
	case e.closed:
		if !k.refused {
			c.hangUp(k)
		}
		delete(c.conns, k.id)
		c.srv.forget(k)
	case k.refused:
	case e.connect != nil:
		if e.subject != "" {
			k.addAuth(proto.ACL{Scheme: "x509", ID: e.subject})
		}
		c.connect(k, e.connect)
	case e.fault != proto.OK:
		c.replyHeader(k, e.req.Xid, e.fault)
	default:
		c.request(k, e.req)
	}
}

// commit gives a transaction its zxid and time, executes it and, if it
// succeeds, logs it and tells the watchers. The events precede every later
// reply because they are put into the same stream here.
func (c *core) commit(x *datatree.Txn) *datatree.Result {
	x.Zxid = c.tree.Zxid() + 1
	x.TimeMs = c.srv.cfg.Clock.Now().UnixMilli()
	res := c.tree.Apply(x)
	if res.Err != proto.OK {
		return res
	}
	b, start := txnlog.BeginRecord(c.batch.log)
	if len(c.batch.log) == 0 {
		c.batch.firstZxid = x.Zxid
	}
	c.batch.log = txnlog.EndRecord(x.Append(b), start)
	c.batch.lastZxid = x.Zxid
	for _, e := range res.Events {
		c.watches.Fire(e, func(id datatree.ConnID) { c.notify(id, e) })
	}
	return res
}

func (c *core) notify(id datatree.ConnID, e datatree.Event) {
	k := c.conns[id]
	if k == nil {
		return
	}
	c.touch(k)
	k.pend = proto.AppendEvent(k.pend, e.Type, e.Path)
}

// begin starts a reply; the caller appends its body and calls end.
func (c *core) begin(k *conn, xid int32, code proto.Code) int {
	c.touch(k)
	k.replies++
	var start int
	k.pend, start = proto.StartFrame(k.pend)
	k.pend = proto.AppendReply(k.pend, xid, c.tree.Zxid(), code)
	return start
}

func (c *core) end(k *conn, start int) {
	k.pend = proto.FinishFrame(k.pend, start)
	c.batch.bytes += len(k.pend) - start
}

// replyHeader sends a reply without a body: an error, or a bare success.
func (c *core) replyHeader(k *conn, xid int32, code proto.Code) {
	c.end(k, c.begin(k, xid, code))
}

func (c *core) request(k *conn, q *proto.Request) {
	if k.session == nil {
		c.replyHeader(k, q.Xid, proto.SessionExpired)
		c.hangUp(k)
		return
	}
	switch q.Op {
	case proto.OpPing:
		c.replyHeader(k, q.Xid, proto.OK)
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL,
		proto.OpDelete, proto.OpSetData, proto.OpSetACL, proto.OpCheck:
		c.write(k, q)
	case proto.OpMulti:
		c.multi(k, q)
	case proto.OpSetWatches, proto.OpSetWatches2:
		c.setWatches(k, q)
	case proto.OpAuth:
		c.authenticate(k, q)
	case proto.OpCloseSession:
		c.closeSession(k, q)
	default:
		c.read(k, q)
	}
}

// write executes a single change.
func (c *core) write(k *conn, q *proto.Request) {
	res := c.execute(k, q.Changes)
	if res.Err != proto.OK {
		c.replyHeader(k, q.Xid, res.Err)
		return
	}
	start := c.begin(k, q.Xid, proto.OK)
	k.pend = appendResult(k.pend, &res.Ops[0])
	c.end(k, start)
}

func appendResult(b []byte, r *datatree.OpResult) []byte {
	switch r.Op {
	case proto.OpCreate:
		return proto.AppendString(b, r.Path)
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return r.Stat.Append(proto.AppendString(b, r.Path))
	case proto.OpSetData, proto.OpSetACL:
		return r.Stat.Append(b)
	case proto.OpError:
		return proto.AppendInt32(b, int32(r.Err))
	}
	return b // delete, check
}

// multi executes all changes or none. Its reply is a success that carries the
// outcome of each.
func (c *core) multi(k *conn, q *proto.Request) {
	res := c.execute(k, q.Changes)
	start := c.begin(k, q.Xid, proto.OK)
	for i := range res.Ops {
		r := &res.Ops[i]
		k.pend = appendResult(proto.AppendMultiHeader(k.pend, r.Op, false, r.Err), r)
	}
	k.pend = proto.AppendMultiHeader(k.pend, proto.OpError, true, proto.Code(proto.OpError))
	c.end(k, start)
}

func (c *core) execute(k *conn, changes []proto.Change) *datatree.Result {
	for i := range changes {
		changes[i].ACL = k.resolve(changes[i].ACL)
	}
	return c.commit(&datatree.Txn{Kind: datatree.Write, Session: k.session.id, Changes: changes, Caller: &k.caller})
}

// resolve puts a connection's own identities in the place of the scheme
// "auth". A list with none left is refused later, as InvalidACL.
func (k *conn) resolve(list []proto.ACL) []proto.ACL {
	for i, a := range list {
		if a.Scheme != "auth" {
			continue
		}
		out := append([]proto.ACL(nil), list[:i]...)
		for _, id := range k.caller.Identities {
			out = append(out, proto.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
		}
		return append(out, k.resolve(list[i+1:])...)
	}
	return list
}

// authenticate takes ZooKeeper's digest scheme and ip; another scheme costs
// the client its connection.
func (c *core) authenticate(k *conn, q *proto.Request) {
	switch q.Scheme {
	case "digest":
		user, _, _ := strings.Cut(string(q.Auth), ":")
		sum := sha1.Sum(q.Auth) //nolint:gosec // as above
		k.addAuth(proto.ACL{Scheme: "digest", ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:])})
	case "ip":
		host, _, _ := net.SplitHostPort(k.name)
		k.addAuth(proto.ACL{Scheme: "ip", ID: host})
	default:
		c.srv.log.Warn("authentication scheme not served", "remote", k.name, "scheme", q.Scheme)
		c.replyHeader(k, q.Xid, proto.AuthFailed)
		c.hangUp(k)
		return
	}
	c.replyHeader(k, q.Xid, proto.OK)
}

// maxIdentities bounds what a connection may collect.
const maxIdentities = 64

func (k *conn) addAuth(id proto.ACL) {
	have := &k.caller.Identities
	if !slices.Contains(*have, id) && len(*have) < maxIdentities {
		*have = append(*have, id)
	}
}

func (c *core) closeSession(k *conn, q *proto.Request) {
	s := k.session
	c.commit(&datatree.Txn{Kind: datatree.CloseSession, Session: s.id})
	c.sessions.remove(s)
	c.replyHeader(k, q.Xid, proto.OK)
	c.hangUp(k)
}

// setWatches sets a client's watches again after a reconnect and fires those
// whose change came while it was away.
func (c *core) setWatches(k *conn, q *proto.Request) {
	w := q.Watches
	if w.Persistent {
		c.replyHeader(k, q.Xid, proto.Unimplemented)
		return
	}
	for _, path := range w.Data {
		v, ok := c.tree.Get(path)
		switch {
		case !ok:
			c.notify(k.id, datatree.Event{Type: proto.NodeDeleted, Path: path})
		case v.Stat().Mzxid > w.RelativeZxid:
			c.notify(k.id, datatree.Event{Type: proto.NodeDataChanged, Path: path})
		default:
			c.watches.AddData(k.id, path)
		}
	}
	for _, path := range w.Exist {
		if _, ok := c.tree.Get(path); ok {
			c.notify(k.id, datatree.Event{Type: proto.NodeCreated, Path: path})
		} else {
			c.watches.AddData(k.id, path)
		}
	}
	for _, path := range w.Child {
		v, ok := c.tree.Get(path)
		switch {
		case !ok:
			c.notify(k.id, datatree.Event{Type: proto.NodeDeleted, Path: path})
		case v.Stat().Pzxid > w.RelativeZxid:
			c.notify(k.id, datatree.Event{Type: proto.NodeChildrenChanged, Path: path})
		default:
			c.watches.AddChild(k.id, path)
		}
	}
	c.replyHeader(k, q.Xid, proto.OK)
}

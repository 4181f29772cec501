package zkserver

import (
	"slices"
	"strings"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
)

// read answers the requests that change nothing.
func (c *core) read(k *conn, q *proto.Request) {
	switch q.Op {
	case proto.OpSync:
		start := c.begin(k, q.Xid, proto.OK)
		k.pend = proto.AppendString(k.pend, q.Path)
		c.end(k, start)
	case proto.OpMultiRead:
		c.multiRead(k, q)
	case proto.OpGetEphemerals:
		start := c.begin(k, q.Xid, proto.OK)
		k.pend = appendStrings(k.pend, c.tree.Ephemerals(k.session.id, q.Path))
		c.end(k, start)
	case proto.OpWhoAmI:
		c.whoAmI(k, q)
	case proto.OpExists, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren2, proto.OpGetACL, proto.OpGetAllChildren:
		c.readNode(k, q)
	default:
		c.srv.log.Warn("operation not served", "remote", k.name, "operation", int32(q.Op))
		c.replyHeader(k, q.Xid, proto.Unimplemented)
	}
}

func (c *core) readNode(k *conn, q *proto.Request) {
	v, ok := c.tree.Get(q.Path)
	if !ok {
		// Only exists leaves a watch on what is not there.
		if q.Op == proto.OpExists && q.Watch {
			c.watches.AddData(k.id, q.Path)
		}
		c.replyHeader(k, q.Xid, proto.NoNode)
		return
	}
	if q.Op != proto.OpExists && !v.Allows(toRead(q.Op), &k.caller) {
		c.replyHeader(k, q.Xid, proto.NoAuth)
		return
	}
	start := c.begin(k, q.Xid, proto.OK)
	stat := v.Stat()
	switch q.Op {
	case proto.OpExists:
		k.pend = stat.Append(k.pend)
	case proto.OpGetData:
		k.pend = stat.Append(v.AppendData(k.pend))
	case proto.OpGetChildren:
		k.pend = v.AppendChildren(k.pend)
	case proto.OpGetChildren2:
		k.pend = stat.Append(v.AppendChildren(k.pend))
	case proto.OpGetACL:
		k.pend = stat.Append(proto.AppendACLs(k.pend, shownACL(v, k)))
	case proto.OpGetAllChildren:
		k.pend = proto.AppendInt32(k.pend, v.Descendants())
	}
	c.end(k, start)
	if !q.Watch {
		return
	}
	switch q.Op {
	case proto.OpExists, proto.OpGetData:
		c.watches.AddData(k.id, q.Path)
	case proto.OpGetChildren, proto.OpGetChildren2:
		c.watches.AddChild(k.id, q.Path)
	}
}

// toRead gives the permissions one of which a read needs. Whether a znode exists
// is no secret.
func toRead(op proto.Op) int32 {
	switch op {
	case proto.OpGetACL:
		return datatree.PermRead | datatree.PermAdmin
	}
	return datatree.PermRead
}

// shownACL hides the hashes of passwords from who may not change the list.
func shownACL(v datatree.View, k *conn) []proto.ACL {
	list := v.ACL()
	if v.Allows(datatree.PermAdmin, &k.caller) {
		return list
	}
	list = slices.Clone(list)
	for i, a := range list {
		if user, _, ok := strings.Cut(a.ID, ":"); ok && a.Scheme == "digest" {
			list[i].ID = user + ":x"
		}
	}
	return list
}

// multiRead answers each read by itself; one that fails fails alone.
func (c *core) multiRead(k *conn, q *proto.Request) {
	start := c.begin(k, q.Xid, proto.OK)
	for _, r := range q.Reads {
		v, ok := c.tree.Get(r.Path)
		code := proto.NoNode
		if ok && !v.Allows(datatree.PermRead, &k.caller) {
			ok, code = false, proto.NoAuth
		}
		if !ok {
			res := datatree.OpResult{Op: proto.OpError, Err: code}
			k.pend = appendResult(proto.AppendMultiHeader(k.pend, res.Op, false, res.Err), &res)
			continue
		}
		k.pend = proto.AppendMultiHeader(k.pend, r.Op, false, proto.OK)
		if r.Op == proto.OpGetChildren {
			k.pend = v.AppendChildren(k.pend)
			continue
		}
		stat := v.Stat()
		k.pend = stat.Append(v.AppendData(k.pend))
	}
	k.pend = proto.AppendMultiHeader(k.pend, proto.OpError, true, proto.Code(proto.OpError))
	c.end(k, start)
}

// whoAmI lists the connection's identities: scheme and user.
func (c *core) whoAmI(k *conn, q *proto.Request) {
	start := c.begin(k, q.Xid, proto.OK)
	k.pend = proto.AppendInt32(k.pend, int32(len(k.caller.Identities)))
	for _, a := range k.caller.Identities {
		k.pend = proto.AppendString(proto.AppendString(k.pend, a.Scheme), a.ID)
	}
	c.end(k, start)
}

func appendStrings(b []byte, list []string) []byte {
	b = proto.AppendInt32(b, int32(len(list)))
	for _, s := range list {
		b = proto.AppendString(b, s)
	}
	return b
}

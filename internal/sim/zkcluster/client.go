package zkcluster

import (
	"maps"
	"slices"
	"strings"
	"time"
)

type watchKind uint8

const (
	nodeCreated watchKind = iota
	nodeDeleted
	dataChanged
	childrenChanged
	reconnected // the session lives on over a new connection
	sessionOver
)

type watchEvent struct {
	kind watchKind
	path string
}

// armed are the watches that a client believes the server holds for it.
type armed struct {
	data map[string]bool // whether the node was there
	kids map[string]bool
}

func (a *armed) paths(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

// client is a ZooKeeper client of a process: one session, requests in order
// over a connection that breaks, watches that are armed anew on the next one.
type client struct {
	w                  *world
	h                  *host
	name               string
	srv                *session
	up                 bool
	conn               int   // generation of the connection
	err                error // why the session is over
	previous           int64
	waiting            []*op
	flying             []*op // sent and not answered, in order
	window             int
	zxid               int64 // of the last thing heard
	armed              armed
	nodes              map[string]bool // paths whose data or existence is watched
	lists              map[string]bool // paths whose children are
	onEvent            func(watchEvent)
	p                  *proc         // waits for the session to begin
	toServer, toClient time.Duration // when the last message in each direction arrives
}

// connect begins a session; it lives when up is set, for which p is woken.
func (w *world) connect(h *host, name string, p *proc, previous int64, onEvent func(watchEvent)) *client {
	c := &client{
		w: w, h: h, name: name, p: p, previous: previous, onEvent: onEvent, window: w.p.inFlight,
		armed: armed{map[string]bool{}, map[string]bool{}}, nodes: map[string]bool{}, lists: map[string]bool{},
	}
	h.clients = append(h.clients, c)
	c.dial()
	return c
}

func (c *client) id() int64 { return c.srv.id }

// dial opens a connection after a while, and again where none can be had.
func (c *client) dial() {
	c.conn++
	conn := c.conn
	c.h.after(c.w.delay(c.w.p.zkDelay)+c.w.p.redial, func() {
		if conn != c.conn || c.err != nil {
			return
		}
		if c.h.cutFromZK {
			c.dial()
			return
		}
		c.established()
	})
}

func (c *client) established() {
	s := c.w.server
	switch {
	case c.srv == nil:
		s.nextSession++
		c.srv = &session{id: s.nextSession, client: c, timeout: c.w.p.session}
		c.up = true
		if c.p != nil {
			c.p.wake()
		}
	case c.srv.expired:
		c.die(errExpired)
		return
	default:
		c.srv.silent++
		c.up = true
		c.toServer, c.toClient = c.w.now, c.w.now
		c.w.cov.Reconnects++
		c.rearm()
		c.onEvent(watchEvent{kind: reconnected})
	}
	c.pump()
}

// rearm tells the server of the watches it has forgotten with the connection.
func (c *client) rearm() {
	a := c.armed
	c.armed = armed{map[string]bool{}, map[string]bool{}}
	maps.Copy(c.armed.data, a.data)
	maps.Copy(c.armed.kids, a.kids)
	zxid, conn := c.zxid, c.conn
	c.transmit(func() {
		if conn == c.conn && !c.srv.expired {
			c.w.server.rearm(c.srv, zxid, &a)
		}
	})
}

// lose breaks the connection. Of what was sent some is carried out all the
// same, and its reply is lost.
func (c *client) lose() {
	if !c.up {
		return
	}
	c.up = false
	c.conn++
	c.w.cov.Disconnects++
	s := c.w.server
	s.data.forget(c.srv)
	s.kids.forget(c.srv)
	s.quiet(c.srv)
	c.resend()
	c.dial()
}

// resend puts what was in flight before all that waits.
func (c *client) resend() {
	for _, o := range c.flying {
		o.resent = true
		if o.done {
			c.w.cov.LostReplies++
		}
	}
	c.waiting = append(slices.Clone(c.flying), c.waiting...)
	c.flying = nil
}

// die ends the client: its session is over.
func (c *client) die(why error) {
	if c.err != nil {
		return
	}
	c.err, c.up = why, false
	c.conn++
	ops := append(c.flying, c.waiting...)
	c.flying, c.waiting = nil, nil
	if why == errExpired {
		c.w.cov.Expiries++
		if slices.ContainsFunc(ops, func(o *op) bool { return o.fence != noFence || o.kind == opElect }) {
			c.w.cov.ExpiriesMidMulti++
		}
		c.onEvent(watchEvent{kind: sessionOver})
	}
	for _, o := range ops {
		o.finish(result{err: why, resent: o.resent})
	}
	if c.p != nil {
		c.p.wake()
	}
}

// close ends the session in good order, its ephemeral nodes with it.
func (c *client) close() {
	if c.err != nil {
		return
	}
	c.die(errKilled)
	if c.srv != nil && !c.h.cutFromZK {
		sn := c.srv
		c.w.after(c.w.delay(c.w.p.zkDelay), func() { c.w.server.expire(sn) })
	} else if c.srv != nil {
		c.w.server.quiet(c.srv)
	}
}

// pump sends what waits, as far as the window allows.
func (c *client) pump() {
	for c.up && len(c.waiting) > 0 && len(c.flying) < c.window {
		o := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.flying = append(c.flying, o)
		c.send(o)
	}
}

func (c *client) send(o *op) {
	switch o.kind {
	case opGet, opExists:
		o.watch = c.nodes[o.path]
	case opChildren:
		o.watch = c.lists[o.path]
	}
	conn := c.conn
	c.transmit(func() {
		sn := c.srv
		if sn.expired {
			if conn == c.conn {
				c.conn++ // the server hangs up
				c.h.deliver(func() { c.die(errExpired) })
			}
			return
		}
		if conn != c.conn {
			// The connection is gone. What had arrived before is carried out.
			if o.resent && c.w.rng.IntN(2) == 0 && o.isWrite() && !sn.expired {
				if r := c.w.server.execute(sn, o); r.err == nil {
					c.w.cov.LostReplies++
				}
			}
			return
		}
		r := c.w.server.execute(sn, o)
		o.done = r.err == nil && o.isWrite()
		c.answer(conn, o, r)
	})
}

// transmit lets do happen at the server after all that was sent before.
func (c *client) transmit(do func()) {
	c.toServer = max(c.toServer, c.w.now+c.w.delay(c.w.p.zkDelay))
	c.w.at(c.toServer, do)
}

// answer brings a reply to the client.
func (c *client) answer(conn int, o *op, r result) {
	zxid := c.w.server.tree.zxid
	c.arrive(conn, func() {
		c.zxid = max(c.zxid, zxid)
		i := slices.Index(c.flying, o)
		if i < 0 {
			return
		}
		c.flying = slices.Delete(c.flying, i, i+1)
		if o.watch && r.err == nil {
			if o.kind == opChildren {
				c.armed.kids[o.path] = true
			} else {
				c.armed.data[o.path] = o.kind == opGet || r.exists
			}
		}
		r.resent = o.resent
		o.finish(r)
		c.pump()
	})
}

// arrive lets do happen at the client, in the server's order.
func (c *client) arrive(conn int, do func()) {
	c.toClient = max(c.toClient, c.w.now+c.w.delay(c.w.p.zkDelay))
	c.w.at(c.toClient, func() {
		c.h.deliver(func() {
			if conn == c.conn && c.err == nil {
				do()
			}
		})
	})
}

// notify brings a watch event to the client.
func (c *client) notify(e watchEvent, zxid int64) {
	if !c.up {
		return
	}
	c.arrive(c.conn, func() {
		c.zxid = max(c.zxid, zxid)
		c.w.cov.Watches++
		kids := e.kind == childrenChanged
		if kids {
			delete(c.armed.kids, e.path)
		} else {
			delete(c.armed.data, e.path)
			if e.kind == nodeDeleted {
				delete(c.armed.kids, e.path)
			}
		}
		if kids && c.lists[e.path] || !kids && c.nodes[e.path] {
			c.onEvent(e)
		}
	})
}

// finish gives the result to the thread that waits.
func (o *op) finish(r result) {
	g := o.group
	g.results[o.index] = r
	if g.left--; g.left == 0 {
		g.p.wake()
	}
}

// do sends one request and waits for its reply.
func (c *client) do(p *proc, o op) result { return c.pipe(p, []op{o})[0] }

// pipe sends requests in order and waits for all replies.
func (c *client) pipe(p *proc, ops []op) []result {
	g := &group{p: p, left: len(ops), results: make([]result, len(ops))}
	for i := range ops {
		ops[i].group, ops[i].index = g, i
		g.results[i].err = errKilled
		if c.err == nil {
			c.waiting = append(c.waiting, &ops[i])
		} else {
			ops[i].finish(result{err: c.err})
		}
	}
	c.pump()
	for g.left > 0 && p.park() {
	}
	return g.results
}

// unwatchAll drops the interest in all paths but one.
func (c *client) unwatchAll(keep string) {
	for path := range c.nodes {
		if path != keep {
			delete(c.nodes, path)
		}
	}
	clear(c.lists)
}

func under(path, dir string) (string, bool) { return strings.CutPrefix(path, dir+"/") }

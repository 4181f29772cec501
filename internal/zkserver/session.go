package zkserver

import (
	"container/heap"
	"crypto/rand"
	"crypto/subtle"
	"time"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
)

// liveSession is what the server knows of a session besides the tree's durable
// part.
type liveSession struct {
	id      int64
	timeout time.Duration // as negotiated by the connection that holds it
	heard   int64         // server clock, ns, at the last frame of earlier connections
	conn    *conn         // nil while the client is away
	due     int64         // place in the heap; the true deadline may be later
	slot    int
}

// deadline is when the session expires if nothing more is heard.
func (s *liveSession) deadline() int64 {
	heard := s.heard
	if s.conn != nil {
		heard = max(heard, s.conn.heard.Load())
	}
	return heard + int64(s.timeout)
}

// sessionTable finds sessions by id and by deadline. Deadlines only grow, so
// the heap is put right when its top is looked at.
type sessionTable struct {
	byID  map[int64]*liveSession
	heap  sessionHeap
	armed int64 // when the timer fires; 0 for no timer
	stop  func() bool
}

func (t *sessionTable) add(s *liveSession) {
	t.byID[s.id] = s
	s.due = s.deadline()
	heap.Push(&t.heap, s)
}

func (t *sessionTable) remove(s *liveSession) {
	delete(t.byID, s.id)
	heap.Remove(&t.heap, s.slot)
}

// expired gives a session whose deadline has passed, or nil.
func (t *sessionTable) expired(now int64) *liveSession {
	for len(t.heap) > 0 {
		s := t.heap[0]
		if s.due > now {
			return nil
		}
		if d := s.deadline(); d > now {
			s.due = d
			heap.Fix(&t.heap, 0)
			continue
		}
		return s
	}
	return nil
}

func (t *sessionTable) disarm() {
	if t.stop != nil {
		t.stop()
	}
	t.armed = 0
}

type sessionHeap []*liveSession

func (h sessionHeap) Len() int           { return len(h) }
func (h sessionHeap) Less(i, j int) bool { return h[i].due < h[j].due }

func (h sessionHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

func (h *sessionHeap) Push(x any) {
	s := x.(*liveSession)
	s.slot = len(*h)
	*h = append(*h, s)
}

func (h *sessionHeap) Pop() any {
	old := *h
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return s
}

// restoreSessions gives every session of the tree its whole time-out again.
func (c *core) restoreSessions() {
	now := c.srv.now()
	c.sessions.byID = map[int64]*liveSession{}
	// As ZooKeeper: the wall clock in the middle bytes, so that ids of a server
	// that lost its data differ from those before.
	c.nextID = int64(uint64(c.srv.start.UnixMilli()) << 24 >> 8)
	for _, id := range c.tree.SessionIDs() {
		ms, _, _ := c.tree.Session(id)
		c.sessions.add(&liveSession{id: id, timeout: time.Duration(ms) * time.Millisecond, heard: now})
		c.nextID = max(c.nextID, id+1)
	}
}

// housekeep expires sessions, deletes containers and TTL nodes that are due
// and sets the timer for the next time.
func (c *core) housekeep() {
	now := c.srv.now()
	for s := c.sessions.expired(now); s != nil; s = c.sessions.expired(now) {
		c.srv.log.Info("session expired", "session", hex(s.id), "timeout", s.timeout)
		c.endSession(s)
		if c.batch.full() {
			c.srv.queue.wake() // go on after this batch
			break
		}
	}
	if now-c.swept >= int64(sweepEvery) {
		c.swept = now
		c.sweep()
	}
	c.arm(now)
}

// sweepEvery is how often containers and TTL nodes are looked at, as
// znode.container.checkIntervalMs.
const sweepEvery = time.Minute

func (c *core) sweep() {
	for _, path := range c.tree.Due(c.srv.cfg.Clock.Now().UnixMilli()) {
		c.commit(&datatree.Txn{Kind: datatree.Write, Changes: []proto.Change{{Op: proto.OpDelete, Path: path, Version: -1}}})
	}
}

// arm wakes the core at the next deadline.
func (c *core) arm(now int64) {
	next := c.swept + int64(sweepEvery)
	if h := c.sessions.heap; len(h) > 0 {
		next = min(next, h[0].due)
	}
	if c.sessions.armed != 0 && c.sessions.armed <= next && c.sessions.armed > now {
		return
	}
	c.sessions.disarm()
	c.sessions.armed = next
	c.sessions.stop = c.srv.cfg.Clock.AfterFunc(time.Duration(max(next-now, 1)), c.srv.queue.wake)
}

// endSession closes a session: its ephemerals go, watchers are told, its
// connection ends after what it has been sent.
func (c *core) endSession(s *liveSession) {
	c.commit(&datatree.Txn{Kind: datatree.CloseSession, Session: s.id})
	c.sessions.remove(s)
	if k := s.conn; k != nil {
		c.hangUp(k)
	}
}

// hangUp closes a connection once the replies it has got are written.
func (c *core) hangUp(k *conn) {
	c.watches.Drop(k.id)
	if k.session != nil && k.session.conn == k {
		k.session.heard = k.heard.Load()
		k.session.conn = nil
	}
	k.session, k.refused, k.last = nil, true, true
	c.touch(k)
}

// connect answers the first frame of a connection.
func (c *core) connect(k *conn, q *proto.ConnectRequest) {
	c.conns[k.id] = k
	if q.LastZxidSeen > c.tree.Zxid() {
		c.srv.log.Warn("client has seen a later state than this server holds; its session is refused",
			"remote", k.name, "client_zxid", q.LastZxidSeen, "zxid", c.tree.Zxid())
		c.hangUp(k)
		return
	}
	s := c.sessionFor(k, q)
	c.touch(k)
	if s == nil {
		var none [16]byte
		k.pend = proto.AppendConnectResponse(k.pend, 0, 0, none[:], q.HasReadOnly)
		c.hangUp(k)
		return
	}
	s.timeout, s.conn, k.session = c.negotiate(q.TimeoutMs), k, s
	s.heard = c.srv.now()
	c.sessions.reset(s)
	_, password, _ := c.tree.Session(s.id)
	k.pend = proto.AppendConnectResponse(k.pend, int32(s.timeout.Milliseconds()), s.id, password[:], q.HasReadOnly)
}

// reset files a session anew after its time-out has changed.
func (t *sessionTable) reset(s *liveSession) {
	s.due = s.deadline()
	heap.Fix(&t.heap, s.slot)
}

// sessionFor opens a session or takes up the one asked for; nil if that has
// expired or the password is wrong.
func (c *core) sessionFor(k *conn, q *proto.ConnectRequest) *liveSession {
	if q.SessionID == 0 {
		return c.openSession(q)
	}
	s := c.sessions.byID[q.SessionID]
	if s == nil {
		c.srv.log.Info("session asked for has expired", "remote", k.name, "session", hex(q.SessionID))
		return nil
	}
	_, password, _ := c.tree.Session(s.id)
	if subtle.ConstantTimeCompare(password[:], q.Password) != 1 {
		c.srv.log.Warn("wrong password for session", "remote", k.name, "session", hex(s.id))
		return nil
	}
	if s.conn != nil {
		c.hangUp(s.conn)
	}
	return s
}

func (c *core) openSession(q *proto.ConnectRequest) *liveSession {
	s := &liveSession{id: c.nextID, timeout: c.negotiate(q.TimeoutMs), heard: c.srv.now()}
	c.nextID++
	x := &datatree.Txn{Kind: datatree.OpenSession, Session: s.id, TimeoutMs: int32(s.timeout.Milliseconds())}
	_, _ = rand.Read(x.Password[:]) // never fails
	c.commit(x)
	c.sessions.add(s)
	return s
}

func (c *core) negotiate(ms int32) time.Duration {
	d := time.Duration(ms) * time.Millisecond
	return min(max(d, c.srv.cfg.MinSessionTimeout), c.srv.cfg.MaxSessionTimeout).Truncate(time.Millisecond)
}

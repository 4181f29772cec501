package zkserver

import (
	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/txnlog"
)

// core executes requests. All its fields belong to its goroutine but
// the last two, which are the sync goroutine's.
type core struct {
	srv      *Server
	tree     *datatree.Tree
	watches  *datatree.Watches
	conns    map[datatree.ConnID]*conn
	sessions sessionTable
	nextID   int64 // of the next session
	swept    int64 // server clock, ns, at the last look at containers

	batch  *batch
	toSync chan *batch

	log        *txnlog.Log
	lastLogged int64 // zxid; the sync goroutine's
}

// batch is what the core executed between two syncs.
type batch struct {
	log       []byte // records of its transactions
	firstZxid int64
	lastZxid  int64
	events    int     // executed
	bytes     int     // of replies
	touched   []*conn // connections with something in pend
	out       []outgoing
}

func (b *batch) empty() bool { return len(b.log) == 0 && len(b.out) == 0 }

func (b *batch) full() bool {
	return b.events >= maxBatchEvents || len(b.log) >= maxBatchLog || b.bytes >= maxBatchReplies
}

type outgoing struct {
	conn    *conn
	bytes   []byte
	replies int
	last    bool
}

// A batch is closed to new requests at these sizes, so that no reply waits for
// an endless one.
const (
	maxBatchEvents  = 8192
	maxBatchLog     = 8 << 20
	maxBatchReplies = 32 << 20
)

func newCore(s *Server, tree *datatree.Tree, log *txnlog.Log) *core {
	c := &core{
		srv: s, tree: tree, watches: datatree.NewWatches(), conns: map[datatree.ConnID]*conn{},
		batch: &batch{}, toSync: make(chan *batch), log: log,
	}
	c.restoreSessions()
	c.publish()
	return c
}

// run is the core goroutine. It offers the batch to the sync goroutine and
// goes on filling it until that is free.
func (c *core) run() {
	defer c.srv.core1.Done()
	defer close(c.toSync)
	defer c.sessions.disarm()
	var taken, events []event // events is what remains of taken
	for {
		for len(events) > 0 && !c.batch.full() {
			c.handle(&events[0])
			c.batch.events++
			events = events[1:]
		}
		if len(events) == 0 {
			c.housekeep()
		}
		c.seal()
		ready, toSync := c.srv.queue.ready, c.toSync
		if len(events) > 0 {
			ready = nil // the batch is full: it goes first
		}
		if c.batch.empty() {
			toSync = nil
		}
		select {
		case <-ready:
			taken = c.srv.queue.take(taken)
			events = taken
		case toSync <- c.batch:
			c.batch = &batch{}
			c.publish()
		case held := <-c.srv.freeze:
			c.stand(held)
		case <-c.srv.stop:
			c.toSync <- c.batch // its loop takes batches until toSync is closed
			return
		}
	}
}

// seal moves what connections have pending into the batch, keeping order when
// the batch is filled further after it has been offered.
func (c *core) seal() {
	b := c.batch
	for _, k := range b.touched {
		b.out = append(b.out, outgoing{k, k.pend, k.replies, k.last})
		k.pend, k.replies, k.touched = nil, 0, false
	}
	b.touched = b.touched[:0]
}

// touch notes that a connection has something in this batch.
func (c *core) touch(k *conn) {
	if !k.touched {
		k.touched = true
		c.batch.touched = append(c.batch.touched, k)
	}
}

func (c *core) publish() {
	st := &c.srv.stats
	st.zxid.Store(c.tree.Zxid())
	st.nodes.Store(int64(c.tree.Nodes()))
	st.bytes.Store(c.tree.DataBytes())
	st.watches.Store(int64(c.watches.Len()))
}

package zkwrites

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"kbench/internal/zkserver/proto"
)

// tap times the writes of one session: the time in which at least one multi
// waits for its reply is spent in writing. What a flow reads, or asks of
// brokers, is thus left out.
type tap struct {
	mu      sync.Mutex
	waiting map[uint32]bool // by xid
	began   time.Time       // of the first that waits
	writes  int
	writing time.Duration
}

func (t *tap) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: conn, tap: t}, nil
}

// reset forgets what was written.
func (t *tap) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting, t.writes, t.writing = map[uint32]bool{}, 0, 0
}

// written is how many multis were answered, and how long any of them waited.
func (t *tap) written() (int, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes, t.writing
}

func (t *tap) sent(xid uint32, op proto.Op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if op != proto.OpMulti || t.waiting == nil {
		return
	}
	if len(t.waiting) == 0 {
		t.began = time.Now()
	}
	t.waiting[xid] = true
}

func (t *tap) answered(xid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.waiting[xid] {
		return
	}
	delete(t.waiting, xid)
	t.writes++
	if len(t.waiting) == 0 {
		t.writing += time.Since(t.began)
	}
}

type tapped struct {
	net.Conn
	*tap
	head []byte // of the reply that is read: its length and xid
	left int    // of its bytes behind the head
}

// Write sees one request, as the client library sends each with one call.
func (t *tapped) Write(b []byte) (int, error) {
	if len(b) >= 12 {
		t.sent(binary.BigEndian.Uint32(b[4:]), proto.Op(binary.BigEndian.Uint32(b[8:])))
	}
	return t.Conn.Write(b)
}

func (t *tapped) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		skip := min(t.left, len(rest))
		t.left, rest = t.left-skip, rest[skip:]
		take := min(8-len(t.head), len(rest))
		if t.left > 0 || take == 0 {
			continue
		}
		t.head, rest = append(t.head, rest[:take]...), rest[take:]
		if len(t.head) == 8 {
			t.answered(binary.BigEndian.Uint32(t.head[4:]))
			t.left, t.head = int(binary.BigEndian.Uint32(t.head))-4, t.head[:0]
		}
	}
	return n, err
}

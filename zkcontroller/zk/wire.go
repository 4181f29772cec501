package zk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// readBuffer holds the replies to all requests in flight, where they are short.
	readBuffer = 16 << 10

	opSetWatches = 101

	// asideXid is the greatest xid of requests that the library knows nothing of:
	// its own are over 0, and the protocol's special ones over -10.
	asideXid = -1000
)

// wire is the connection under the library. It can hold back what was read
// until the watches are armed again, and carries requests that the library has
// no words for beside the library's own: in the same session, in the order in
// which they are written.
type wire struct {
	net.Conn
	// replies takes what has come in one call of the system: the library asks for
	// each packet's length and then for the packet.
	replies *bufio.Reader
	left    int           // of the packet that the library reads
	armed   chan struct{} // closed when the first packet of watches is written
	writing sync.Mutex

	mu       sync.Mutex
	hold     *time.Timer // not nil while reads are held back
	done     bool
	deadline time.Time // of the next read
	last     int32     // xid of the last request aside
	aside    map[int32]chan []byte
	over     bool // no reply comes any more
}

func newWire(c net.Conn) *wire {
	return &wire{
		Conn: c, replies: bufio.NewReaderSize(c, readBuffer), armed: make(chan struct{}),
		last: asideXid, aside: make(map[int32]chan []byte),
	}
}

func (w *wire) begin(rearm bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !rearm || w.done {
		return
	}
	w.hold = time.AfterFunc(rearmWait, w.release)
}

func (w *wire) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold != nil && !w.done {
		w.done = true
		w.hold.Stop()
		close(w.armed)
	}
}

func (w *wire) holding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hold != nil && !w.done
}

// SetReadDeadline is the library's bound on the next read.
func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = t
	return w.Conn.SetReadDeadline(t)
}

func (w *wire) postpone(d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deadline.IsZero() {
		return nil
	}
	return w.Conn.SetReadDeadline(w.deadline.Add(d))
}

// Read waits for the watches where they have to be first; the wait does not
// count for the deadline: with a session shorter than the wait each connection
// would end by it, for ever. It gives the library the packets that are for it,
// and the others to who waits for them.
func (w *wire) Read(b []byte) (int, error) {
	if w.holding() {
		began := time.Now()
		<-w.armed
		if err := w.postpone(time.Since(began)); err != nil {
			return 0, err
		}
	}
	if w.left == 0 {
		if err := w.next(); err != nil {
			w.end()
			return 0, err
		}
	}
	n, err := w.replies.Read(b[:min(len(b), w.left)])
	w.left -= n
	if err != nil {
		w.end()
	}
	return n, err
}

// next goes to the next packet that is for the library. A packet is its length
// and, but for the answer to a new session, the xid of the request.
func (w *wire) next() error {
	for {
		head, err := w.replies.Peek(8)
		if err != nil {
			return err
		}
		size := int(binary.BigEndian.Uint32(head))
		xid := int32(binary.BigEndian.Uint32(head[4:]))
		if xid > asideXid {
			w.left = 4 + size
			return nil
		}
		if size < 16 || size > maxAsideReply {
			return fmt.Errorf("zk: a reply of %d bytes to request %d", size, xid)
		}
		body := make([]byte, 4+size)
		if _, err := io.ReadFull(w.replies, body); err != nil {
			return err
		}
		w.mu.Lock()
		ch := w.aside[xid]
		delete(w.aside, xid)
		w.mu.Unlock()
		if ch != nil {
			ch <- body[8:]
		}
	}
}

// maxAsideReply bounds one reply, in bytes: it is that of many short reads.
const maxAsideReply = 16 << 20

// Write looks for the packet that re-arms watches: length, xid, opcode.
func (w *wire) Write(b []byte) (int, error) {
	w.writing.Lock()
	n, err := w.Conn.Write(b)
	w.writing.Unlock()
	if len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) == opSetWatches {
		w.release()
	}
	return n, err
}

// errCut says that the outcome of a request aside is unknown.
var errCut = errors.New("zk: the connection broke")

// request sends a request of the caller's own: opcode and body after a header.
// It gives the reply without its length and xid: zxid, error code and body.
// errCut or an error of the connection leaves the outcome unknown.
func (w *wire) request(opcode int32, body []byte) ([]byte, error) {
	ch := make(chan []byte, 1)
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return nil, errCut
	}
	if w.last--; w.last > asideXid {
		w.last = asideXid - 1 // wrapped around
	}
	xid := w.last
	w.aside[xid] = ch
	w.mu.Unlock()
	packet := make([]byte, 12, 12+len(body))
	binary.BigEndian.PutUint32(packet, uint32(8+len(body)))
	binary.BigEndian.PutUint32(packet[4:], uint32(xid))
	binary.BigEndian.PutUint32(packet[8:], uint32(opcode))
	w.writing.Lock()
	_, err := w.Conn.Write(append(packet, body...))
	w.writing.Unlock()
	if err != nil {
		w.Close()
		return nil, errors.Join(errCut, err)
	}
	reply, ok := <-ch
	if !ok {
		return nil, errCut
	}
	return reply, nil
}

// end tells who waits that nothing comes any more.
func (w *wire) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for xid, ch := range w.aside {
		delete(w.aside, xid)
		close(ch)
	}
}

// Close also frees a reader that is held back, and who waits for a reply.
func (w *wire) Close() error {
	w.release()
	err := w.Conn.Close()
	w.end()
	return err
}

package etcdraft

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

const (
	// greeting opens a connection, before TLS too: as a size it is above what a
	// Kafka server takes, and TLS begins with other bytes.
	greeting = "RAFT"
	// maxQueued bounds the messages that wait for a peer; one more is dropped.
	maxQueued = 4096
	// maxFrameBytes bounds a message: a MsgApp is little more than one batch, a
	// snapshot is whole.
	maxFrameBytes = 1 << 30
	// maxName bounds the cluster id in a greeting.
	maxName = 1024

	dialTimeout  = time.Second
	writeTimeout = 5 * time.Second
	// Bounds of the pause between two attempts to connect, those of KRaft.
	reconnectMin = 50 * time.Millisecond
	reconnectMax = 500 * time.Millisecond
)

// transport carries messages to the peers, each on a connection of its own that
// only this side writes to.
type transport struct {
	parts    raftclient.Parts
	incoming chan net.Conn
	start    func(*peer) // set by run
	stopped  chan struct{}

	mu      sync.Mutex
	peers   map[kafka.BrokerID]*peer
	pending []*peer // made before run began
}

func newTransport() *transport {
	return &transport{incoming: make(chan net.Conn), peers: map[kafka.BrokerID]*peer{}, stopped: make(chan struct{})}
}

func (t *transport) configure(p raftclient.Parts) { t.parts = p }

// send queues a message and never blocks.
func (t *transport) send(to kafka.BrokerID, m []byte) {
	p := t.peer(to)
	select {
	case p.queue <- m:
	default:
		p.unreachable()
	}
}

// peer gives a peer, whose goroutines start at once or when run does.
func (t *transport) peer(id kafka.BrokerID) *peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.peers[id]; p != nil {
		return p
	}
	p := &peer{id: id, queue: make(chan []byte, maxQueued), lost: make(chan struct{}, 1), heard: make(chan struct{}, 1)}
	t.peers[id] = p
	if t.start == nil {
		t.pending = append(t.pending, p)
	} else {
		t.start(p)
	}
	return p
}

// reachable has the next attempt to connect to a peer made at once, since a
// message of it has come.
func (t *transport) reachable(id kafka.BrokerID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.peers[id]; p != nil {
		notify(p.heard)
	}
}

// run carries messages until ctx ends.
func (t *transport) run(ctx context.Context, deliver func(context.Context, raft.Foreign) error) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(t.stopped)
	t.mu.Lock()
	t.start = func(p *peer) {
		if ctx.Err() != nil {
			return
		}
		wg.Go(func() { t.write(ctx, p) })
		wg.Go(func() { p.report(ctx, deliver) })
	}
	for _, p := range t.pending {
		t.start(p)
	}
	t.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			t.mu.Lock() // nothing starts after this
			t.mu.Unlock()
			return
		case nc := <-t.incoming:
			wg.Go(func() {
				stop := context.AfterFunc(ctx, func() { nc.Close() })
				defer stop()
				defer nc.Close()
				// A peer's connection ends when it likes; it makes a new one.
				_ = t.read(ctx, nc, deliver)
			})
		}
	}
}

// peer is another voter, as this node sends to it.
type peer struct {
	id    kafka.BrokerID
	queue chan []byte
	lost  chan struct{} // that messages to it were dropped
	heard chan struct{} // that a message of it has come
	away  bool          // it was said that it cannot be reached; write's own
}

func (p *peer) unreachable() { notify(p.lost) }

// notify wakes who waits on a channel of capacity 1.
func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// report tells the machine when messages were dropped.
func (p *peer) report(ctx context.Context, deliver func(context.Context, raft.Foreign) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.lost:
			if deliver(ctx, raft.Foreign{From: p.id}) != nil {
				return
			}
		}
	}
}

// write sends what is queued for a peer, over connections made anew when they
// break. What waits while there is none is dropped.
func (t *transport) write(ctx context.Context, p *peer) {
	var backoff time.Duration
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case m := <-p.queue:
			nc, err := t.dial(ctx, p)
			t.tell(ctx, p, err)
			if err == nil {
				began := time.Now()
				t.copy(ctx, nc, p, m)
				nc.Close()
				if time.Since(began) > reconnectMax { // and was not refused
					backoff = 0
				}
			}
		}
		p.unreachable()
		backoff = min(max(2*backoff, reconnectMin), reconnectMax)
		timer := time.NewTimer(backoff)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				waiting = false
			case <-timer.C:
				waiting = false
			case <-p.heard:
				waiting = false
			case <-p.queue:
			}
		}
		timer.Stop()
	}
}

// tell logs when a peer cannot be reached, and when it can be again, as KRaft's
// voters do.
func (t *transport) tell(ctx context.Context, p *peer, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !p.away:
		t.parts.Logger.Warn("voter cannot be reached", "voter", p.id, "err", err)
	case err == nil && p.away:
		t.parts.Logger.Info("voter can be reached again", "voter", p.id)
	}
	p.away = err != nil
}

// dial connects to a peer, and once more where a message of it comes meanwhile:
// what went out before may have been lost, and the kernel repeats it late.
func (t *transport) dial(ctx context.Context, p *peer) (net.Conn, error) {
	select {
	case <-p.heard: // before this attempt
	default:
	}
	first, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var heard bool
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-p.heard:
			heard = true
			cancel()
		case <-done:
		}
	})
	nc, err := t.dialOnce(first, p.id)
	close(done)
	wg.Wait()
	if err != nil && heard {
		return t.dialOnce(ctx, p.id)
	}
	return nc, err
}

func (t *transport) dialOnce(ctx context.Context, id kafka.BrokerID) (net.Conn, error) {
	i := slices.IndexFunc(t.parts.Config.Voters, func(v raft.Voter) bool { return v.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("node %d is not among the voters of the configuration", id)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return wire.DialOptions{Dial: t.greet, TLS: t.parts.TLS}.Open(ctx, t.parts.Config.Voters[i].Endpoints[0].Addr())
}

// greet dials a peer, to whom TLS is spoken only after the greeting.
func (t *transport) greet(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := t.parts.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	t.giveUpInTime(nc)
	_ = nc.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails only where the write will too
	if _, err := io.WriteString(nc, greeting); err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

// giveUpInTime has a connection break when the peer has acknowledged nothing for
// as long as KRaft waits for an answer: the kernel would go on for a quarter of
// an hour, ever more rarely, and a peer that is back would not be heard.
func (t *transport) giveUpInTime(nc net.Conn) {
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return // it is closed, as the next write will tell
	}
	wait := cmp.Or(t.parts.Config.RequestTimeout, raft.DefaultRequestTimeout)
	_ = raw.Control(func(fd uintptr) {
		// Without it the connection is slower to break, no more.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(wait.Milliseconds()))
	})
}

// copy sends m and what follows until the connection breaks, which it also
// notices while it has nothing to send.
func (t *transport) copy(ctx context.Context, nc net.Conn, p *peer, m []byte) {
	broken := make(chan struct{})
	go func() {
		defer close(broken)
		_, _ = io.Copy(io.Discard, nc) // the peer writes nothing: this waits for the end
	}()
	defer func() {
		nc.Close()
		<-broken
	}()
	w := bufio.NewWriterSize(nc, 64<<10)
	hello := binary.BigEndian.AppendUint16(nil, uint16(len(t.parts.Config.ClusterID)))
	hello = append(hello, t.parts.Config.ClusterID...)
	hello = binary.BigEndian.AppendUint32(hello, uint32(t.parts.Config.NodeID))
	if _, err := w.Write(hello); err != nil {
		return
	}
	for {
		_ = nc.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails only where the write will too
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(m)))
		_, err := w.Write(size[:])
		if err == nil {
			_, err = w.Write(m)
		}
		if err == nil && len(p.queue) == 0 {
			err = w.Flush()
		}
		if err != nil {
			return
		}
		t.parts.Talk.Sent(len(m))
		select {
		case <-ctx.Done():
			return
		case <-broken:
			return
		case m = <-p.queue:
		}
	}
}

// read delivers what a peer sends, behind the greeting.
func (t *transport) read(ctx context.Context, nc net.Conn, deliver func(context.Context, raft.Foreign) error) error {
	r := bufio.NewReaderSize(nc, 64<<10)
	from, err := t.greeted(r)
	if err != nil {
		return err
	}
	for {
		var size uint32
		if err := binary.Read(r, binary.BigEndian, &size); err != nil {
			return err
		}
		if size == 0 || size > maxFrameBytes {
			return fmt.Errorf("voter %d sends a message of %d bytes, at most %d", from, size, maxFrameBytes)
		}
		var b bytes.Buffer // grows with what comes, not with what is announced
		if _, err := io.CopyN(&b, r, int64(size)); err != nil {
			return err
		}
		t.reachable(from)
		t.parts.Talk.Heard(b.Len())
		if err := deliver(ctx, raft.Foreign{From: from, Payload: b.Bytes()}); err != nil {
			return err
		}
	}
}

// greeted reads who speaks, and refuses strangers.
func (t *transport) greeted(r io.Reader) (kafka.BrokerID, error) {
	var n uint16
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return raft.None, err
	}
	if n > maxName {
		return raft.None, fmt.Errorf("a cluster id of %d bytes, at most %d", n, maxName)
	}
	name := make([]byte, n)
	if _, err := io.ReadFull(r, name); err != nil {
		return raft.None, err
	}
	var id int32
	if err := binary.Read(r, binary.BigEndian, &id); err != nil {
		return raft.None, err
	}
	if string(name) != t.parts.Config.ClusterID {
		return raft.None, fmt.Errorf("node %d is of cluster %q, this one of %q", id, name, t.parts.Config.ClusterID)
	}
	for _, v := range t.parts.Config.Voters {
		if v.ID == kafka.BrokerID(id) && v.ID != t.parts.Config.NodeID {
			return v.ID, nil
		}
	}
	return raft.None, errors.New("a node that is no voter")
}

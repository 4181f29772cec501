package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// queue holds the packets that arrive in this namespace back in user space, for
// kernels without netem: a rule hands each to NFQUEUE, and its verdict, to let it
// go, is given when it is due. The packets themselves stay in the kernel. It is
// late by what it takes to be woken, up to a millisecond. Packets keep their
// order, whatever the jitter.
//
// Those that leave cannot be held so: TCP lets two of a connection wait in its own
// host and no more (its small queues), so that a delay there is a bound of the
// bandwidth too. Round trips take the same.
type queue struct {
	conn *netlink.Conn
	held chan heldPacket
	done sync.WaitGroup
	end  chan struct{}
}

type heldPacket struct {
	id  uint32
	due time.Time
}

// Of nfnetlink_queue (linux/netfilter/nfnetlink_queue.h).
const (
	queueNumber = 100

	msgPacket  = unix.NFNL_SUBSYS_QUEUE << 8
	msgVerdict = unix.NFNL_SUBSYS_QUEUE<<8 | 1
	msgConfig  = unix.NFNL_SUBSYS_QUEUE<<8 | 2

	attrPacketHeader  = 1 // of a packet
	attrVerdictHeader = 2 // of a verdict
	attrCommand       = 1 // of a configuration
	attrParameters    = 2
	attrMaxLen        = 3

	commandBind  = 1
	copyMeta     = 1
	verdictLetGo = 1 // NF_ACCEPT
	maxHeld      = 65_535
	packetIDLen  = 4
	readBuffer   = 4 << 20
	attrTypeMask = 0x3fff // without the flags of nested and of byte order
)

// openQueue takes the namespace's queue.
func openQueue(delay, jitter time.Duration) (*queue, error) {
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("speak to the packet queue: %w", err)
	}
	for _, m := range []netlink.Message{
		message(msgConfig, netlink.Acknowledge, attrCommand, []byte{commandBind, 0, 0, unix.AF_INET}),
		message(msgConfig, netlink.Acknowledge, attrParameters, append(binary.BigEndian.AppendUint32(nil, 0), copyMeta)),
		message(msgConfig, netlink.Acknowledge, attrMaxLen, binary.BigEndian.AppendUint32(nil, maxHeld)),
	} {
		if _, err := c.Execute(m); err != nil {
			return nil, errors.Join(fmt.Errorf("take the packet queue: %w", err), c.Close())
		}
	}
	_ = c.SetReadBuffer(readBuffer) // the kernel may allow less
	q := &queue{conn: c, held: make(chan heldPacket, maxHeld), end: make(chan struct{})}
	q.done.Go(func() { q.take(delay, jitter) })
	q.done.Go(q.let)
	return q, nil
}

func message(kind uint16, flags netlink.HeaderFlags, attr uint16, data []byte) netlink.Message {
	b, _ := netlink.MarshalAttributes([]netlink.Attribute{{Type: attr, Data: data}}) // of one short attribute: no error
	head := binary.BigEndian.AppendUint16([]byte{unix.AF_UNSPEC, unix.NFNETLINK_V0}, queueNumber)
	return netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(kind), Flags: netlink.Request | flags}, Data: append(head, b...)}
}

// take hears of packets until the connection is closed.
func (q *queue) take(delay, jitter time.Duration) {
	defer close(q.held)
	for {
		messages, err := q.conn.Receive()
		if errors.Is(err, unix.ENOBUFS) { // some were lost, as packets are
			continue
		}
		if err != nil {
			return
		}
		now := time.Now()
		for _, m := range messages {
			id, ok := packetID(m)
			if !ok {
				continue
			}
			after := delay
			if jitter > 0 {
				after += time.Duration(rand.Int64N(2*int64(jitter)+1)) - jitter
			}
			q.held <- heldPacket{id, now.Add(after)} // as large as the kernel's queue
		}
	}
}

func packetID(m netlink.Message) (uint32, bool) {
	const head = 4
	if uint16(m.Header.Type) != msgPacket || len(m.Data) < head {
		return 0, false
	}
	attrs, err := netlink.UnmarshalAttributes(m.Data[head:])
	if err != nil {
		return 0, false
	}
	for _, a := range attrs {
		if a.Type&attrTypeMask == attrPacketHeader && len(a.Data) >= packetIDLen {
			return binary.BigEndian.Uint32(a.Data), true
		}
	}
	return 0, false
}

// let lets each packet go when it is due, in order.
func (q *queue) let() {
	for p := range q.held {
		select {
		case <-time.After(time.Until(p.due)):
		case <-q.end: // it is being closed: nothing is held any longer
		}
		verdict := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, verdictLetGo), p.id)
		_, _ = q.conn.Send(message(msgVerdict, 0, attrVerdictHeader, verdict))
	}
}

// drainFor lets the kernel hand over what it has queued before a close.
const drainFor = 20 * time.Millisecond

// close lets everything go and gives the queue back. The rule that fills it must
// be gone.
func (q *queue) close() error {
	if q == nil {
		return nil
	}
	close(q.end)
	_ = q.conn.SetReadDeadline(time.Now().Add(drainFor)) // take ends then, and let after it
	q.done.Wait()
	return q.conn.Close()
}

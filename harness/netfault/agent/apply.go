package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"kbench/harness/netfault"
)

// tableName is that of the one table that is kbench's.
const tableName = "kbench"

// network is what is wrong with this namespace's network.
type network struct {
	queue *queue // of a delay that the kernel cannot make; nil for none
}

// apply makes p the only thing wrong. Rules are replaced in one transaction, so
// that no packet sees half of them. A delay is the kernel's where it has netem,
// for what leaves; else that of a queue in user space, for what arrives.
func (n *network) apply(p netfault.Program) error {
	old := n.queue
	n.queue = nil
	err := shape(p.Shape)
	if p.Shape.Delay != 0 && errors.Is(err, errNoNetem) {
		if n.queue, err = n.hold(p.Shape, err, &old); err == nil {
			err = shape(netfault.Shape{BitsPerSecond: p.Shape.BitsPerSecond})
		}
	}
	err = errors.Join(err, filter(p.Rules, n.queue != nil))
	return errors.Join(err, old.close())
}

// hold opens the queue that takes the place of netem. The one before is given
// back first: a namespace has one of the number, and what it held goes at once.
func (n *network) hold(s netfault.Shape, noNetem error, old **queue) (*queue, error) {
	if *old != nil {
		if err := errors.Join(filter(nil, false), (*old).close()); err != nil {
			return nil, err
		}
		*old = nil
	}
	q, err := openQueue(s.Delay, s.Jitter)
	if err != nil {
		return nil, errors.Join(noNetem, err)
	}
	return q, nil
}

// Check says why faults cannot be made in the network namespace of this thread,
// nil if they can: it makes them and undoes them.
func Check(faults []netfault.Fault) error {
	p, err := netfault.Compile(faults)
	if err != nil {
		return err
	}
	var n network
	return errors.Join(n.apply(p), n.apply(netfault.Program{}))
}

func filter(rules []netfault.Rule, held bool) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("speak to nftables: %w", err)
	}
	// Added first, so that it is there to be deleted.
	t := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: tableName}
	c.AddTable(t)
	c.DelTable(t)
	if len(rules) > 0 || held {
		c.AddTable(t)
		chains := map[netfault.Hook]*nftables.Chain{
			netfault.Input:  addChain(c, t, "input", nftables.ChainHookInput),
			netfault.Output: addChain(c, t, "output", nftables.ChainHookOutput),
		}
		for _, r := range rules {
			c.AddRule(&nftables.Rule{Table: t, Chain: chains[r.Hook], Exprs: expressions(r)})
		}
		if held { // after the others: what they drop needs no delay
			c.AddRule(&nftables.Rule{Table: t, Chain: chains[netfault.Input], Exprs: append(crossing(netfault.Input), toQueue())})
		}
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("set the rules of nftables: %w; the kernel must have nf_tables, and this program CAP_NET_ADMIN", err)
	}
	return nil
}

func addChain(c *nftables.Conn, t *nftables.Table, name string, hook *nftables.ChainHook) *nftables.Chain {
	return c.AddChain(&nftables.Chain{
		Name: name, Table: t, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: nftables.ChainPriorityFilter,
	})
}

// Places of the addresses in the header of IPv4 (RFC 791).
const (
	sourceAt      = 12
	destinationAt = 16
	addressLen    = 4
)

func expressions(r netfault.Rule) []expr.Any {
	var out []expr.Any
	if r.Peer.IsValid() {
		at := uint32(sourceAt)
		if r.Hook == netfault.Output {
			at = destinationAt
		}
		out = append(out,
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: at, Len: addressLen},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: r.Peer.AsSlice()})
	} else {
		out = crossing(r.Hook)
	}
	if r.DropParts < netfault.Parts {
		// The number is in the host's order, and what is compared in the network's.
		out = append(out,
			&expr.Numgen{Register: 1, Modulus: netfault.Parts, Type: unix.NFT_NG_RANDOM},
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binaryutil.BigEndian.PutUint32(r.DropParts)})
	}
	return append(out, &expr.Verdict{Kind: expr.VerdictDrop})
}

// crossing matches what does not stay in the node.
func crossing(hook netfault.Hook) []expr.Any {
	key := expr.MetaKeyIIFNAME
	if hook == netfault.Output {
		key = expr.MetaKeyOIFNAME
	}
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, "lo")
	return []expr.Any{&expr.Meta{Key: key, Register: 1}, &expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: name}}
}

// toQueue hands packets to the queue, and lets them pass where nobody listens. It
// is the target of xtables: kernels have that one more often than nftables' own.
func toQueue() expr.Any {
	const revision, queues, bypass = 3, 1, 1
	info := xt.Unknown{} // struct xt_NFQ_info_v3, in the host's order
	for _, v := range []uint16{queueNumber, queues, bypass, 0} {
		info = binary.NativeEndian.AppendUint16(info, v)
	}
	return &expr.Target{Name: "NFQUEUE", Rev: revision, Info: &info}
}

// errNoNetem says that the kernel cannot delay packets by itself.
var errNoNetem = errors.New("the kernel must have sch_netem: modprobe sch_netem")

// shape gives every device but the loopback a queueing discipline, or takes
// kbench's away.
func shape(s netfault.Shape) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list the devices: %w", err)
	}
	for _, l := range links {
		if flags := l.Attrs().Flags; flags&net.FlagLoopback != 0 || flags&net.FlagUp == 0 {
			continue
		}
		if err := shapeLink(l, s); err != nil {
			return fmt.Errorf("device %s: %w", l.Attrs().Name, err)
		}
	}
	return nil
}

// handle is that of kbench's queueing disciplines.
var handle = netlink.MakeHandle(0xb, 0)

func shapeLink(l netlink.Link, s netfault.Shape) error {
	if err := unshape(l); err != nil {
		return err
	}
	attrs := netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: handle, Parent: netlink.HANDLE_ROOT}
	switch {
	case s.Delay != 0:
		q := netlink.NewNetem(attrs, netlink.NetemQdiscAttrs{
			Latency: uint32(s.Delay / time.Microsecond), Jitter: uint32(s.Jitter / time.Microsecond), Limit: queueLen,
		})
		q.Rate64 = s.BitsPerSecond / 8
		if err := netlink.QdiscAdd(q); err != nil {
			return fmt.Errorf("delay packets by netem: %w; %w", err, errNoNetem)
		}
	case s.BitsPerSecond != 0:
		rate, burst := s.BitsPerSecond/8, uint32(Burst(s.BitsPerSecond))
		// The kernel wants a burst as the time that it takes, in ticks.
		ticks := uint32(float64(burst) / float64(rate) * netlink.TIME_UNITS_PER_SEC * netlink.TickInUsec())
		if err := netlink.QdiscAdd(&netlink.Tbf{QdiscAttrs: attrs, Rate: rate, Buffer: ticks, Limit: burst + queueBytes}); err != nil {
			return fmt.Errorf("bound the rate by tbf: %w; the kernel must have sch_tbf: modprobe sch_tbf", err)
		}
	}
	return nil
}

const (
	queueLen   = 100_000   // packets that a delay holds at most
	queueBytes = 256 << 10 // that wait for a rate at most
	// minBurst lets one segment as large as a device takes through a rate; a
	// burst is otherwise a hundredth of a second.
	minBurst = 64 << 10
)

// Burst is how many bytes go through a rate at once, before it bounds them.
func Burst(bitsPerSecond uint64) int64 { return int64(max(minBurst, bitsPerSecond/8/100)) }

func unshape(l netlink.Link) error {
	all, err := netlink.QdiscList(l)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q.Attrs().Handle == handle {
			return netlink.QdiscDel(q)
		}
	}
	return nil
}

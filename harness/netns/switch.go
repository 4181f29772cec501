package netns

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"kbench/harness/child"
)

// Prefix begins the name of every device that the machine sees.
const Prefix = "kbench-"

// Names of devices in namespaces, where nobody else's are.
const (
	bridgeName = "bridge"
	nodeDevice = "eth0"
)

// Switch joins the nodes of one cluster, and kbench with them.
type Switch struct {
	ns     netns.NsHandle // of the bridge
	device string         // kbench's end of the cable
	subnet netip.Prefix

	mu    sync.Mutex
	last  netip.Addr // given
	nodes []*Namespace
}

// NewSwitch makes a switch on a free private subnet. On an error nothing is
// left behind.
func NewSwitch() (*Switch, error) {
	subnet, err := freeSubnet()
	if err != nil {
		return nil, err
	}
	s := &Switch{ns: netns.None(), subnet: subnet, last: subnet.Addr().Next(), device: fmt.Sprintf("%s%08x", Prefix, rand.Uint32())}
	if s.ns, err = create(); err == nil {
		err = in(s.ns, addBridge)
	}
	if err == nil {
		err = s.plugIn()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the cluster's network: %w", err), s.Close())
	}
	return s, nil
}

func addBridge(h *netlink.Handle) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName
	b := &netlink.Bridge{LinkAttrs: attrs}
	if err := h.LinkAdd(b); err != nil {
		return fmt.Errorf("add a bridge: %w; the kernel must have it: modprobe bridge", err)
	}
	return h.LinkSetUp(b)
}

// plugIn lays the cable between kbench's own network and the bridge. Its alias
// names the owner, for Sweep.
func (s *Switch) plugIn() error {
	home, err := netns.Get()
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }()
	const port = "kbench"
	if err := s.cable(port, home, s.device); err != nil {
		return err
	}
	l, err := netlink.LinkByName(s.device)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetAlias(l, child.Identity(os.Getpid())); err != nil {
		return err
	}
	return s.configure(home, s.device, port, s.last)
}

// cable lays a pair of devices from the bridge into another namespace.
func (s *Switch) cable(port string, to netns.NsHandle, device string) error {
	return in(s.ns, func(h *netlink.Handle) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = port
		v := &netlink.Veth{LinkAttrs: attrs, PeerName: device, PeerNamespace: netlink.NsFd(to)}
		if err := h.LinkAdd(v); err != nil {
			return fmt.Errorf("add a pair of devices: %w; the kernel must have it: modprobe veth", err)
		}
		b, err := h.LinkByName(bridgeName)
		if err != nil {
			return err
		}
		return errors.Join(h.LinkSetMaster(v, b), h.LinkSetUp(v))
	})
}

// configure gives the far device of a cable its address, sets it up, and waits
// until the cable carries: the kernel takes up to a second to see that.
func (s *Switch) configure(ns netns.NsHandle, device, port string, addr netip.Addr) error {
	err := in(ns, func(h *netlink.Handle) error {
		l, err := h.LinkByName(device)
		if err != nil {
			return err
		}
		a := &netlink.Addr{IPNet: &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(s.subnet.Bits(), addr.BitLen())}}
		if err := errors.Join(h.AddrAdd(l, a), h.LinkSetUp(l)); err != nil {
			return err
		}
		return carries(h, device)
	})
	if err != nil {
		return err
	}
	return in(s.ns, func(h *netlink.Handle) error { return carries(h, port) })
}

// carryWithin bounds the wait for a cable.
const carryWithin = 10 * time.Second

func carries(h *netlink.Handle, device string) error {
	for deadline := time.Now().Add(carryWithin); ; time.Sleep(2 * time.Millisecond) {
		l, err := h.LinkByName(device)
		if err != nil {
			return err
		}
		if l.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("device %s is %v, not up, after %v", device, l.Attrs().OperState, carryWithin)
		}
	}
}

// Attach gives a node a namespace with the next address.
func (s *Switch) Attach() (*Namespace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &Namespace{addr: s.last.Next()}
	if !s.subnet.Contains(n.addr.Next()) { // the last is the broadcast address
		return nil, fmt.Errorf("the network %v has no address left", s.subnet)
	}
	var err error
	if n.ns, err = create(); err != nil {
		return nil, err
	}
	port := fmt.Sprintf("node%d", len(s.nodes)+1)
	if err = s.cable(port, n.ns, nodeDevice); err == nil {
		err = s.configure(n.ns, nodeDevice, port, n.addr)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach a node to the cluster's network: %w", err), release(n.ns))
	}
	s.last = n.addr
	s.nodes = append(s.nodes, n)
	return n, nil
}

// Close removes the network; the processes in it must have ended. It is
// idempotent.
func (s *Switch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, n := range s.nodes {
		errs = append(errs, release(n.ns))
	}
	s.nodes = nil
	errs = append(errs, removeDevice(s.device))
	if s.ns.IsOpen() {
		errs = append(errs, s.ns.Close())
	}
	return errors.Join(errs...)
}

// removeDevice removes a device of this namespace, and the cable with it. That
// it is gone is no error.
func removeDevice(name string) error {
	l, err := netlink.LinkByName(name)
	if _, gone := errors.AsType[netlink.LinkNotFoundError](err); gone {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(l)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove device %s: %w", name, err)
	}
	return nil
}

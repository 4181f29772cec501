package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Namespace is the network of one node.
type Namespace struct {
	ns   netns.NsHandle
	addr netip.Addr
}

// Addr is the node's address on the switch.
func (n *Namespace) Addr() netip.Addr { return n.addr }

// Do calls f in the namespace: processes that f starts live in it. The calling
// goroutine is held to its thread meanwhile.
func (n *Namespace) Do(f func() error) error {
	return within(func() error { return netns.Set(n.ns) }, f)
}

// within calls f after enter has moved this thread to another namespace, and
// moves it back. A thread that cannot go back ends with its goroutine: nobody
// else may get it.
func within(enter, f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("hold this network namespace: %w", err)
	}
	defer func() { _ = home.Close() }()
	if err = enter(); err == nil {
		err = f()
	}
	if now, here := netns.Get(); here == nil {
		stayed := now.Equal(home)
		_ = now.Close()
		if stayed { // it was refused: to go back would be too
			runtime.UnlockOSThread()
			return err
		}
	}
	if back := netns.Set(home); back != nil {
		return errors.Join(err, fmt.Errorf("leave a network namespace: %w", back))
	}
	runtime.UnlockOSThread()
	return err
}

// create makes a namespace without a name, its loopback up.
func create() (ns netns.NsHandle, err error) {
	ns = netns.None()
	err = within(func() (err error) { ns, err = netns.New(); return err }, func() error {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		return err
	})
	if err != nil {
		return ns, errors.Join(fmt.Errorf("make a network namespace: %w", err), release(ns))
	}
	return ns, nil
}

// release lets go of a namespace; it ends when the last process in it does.
func release(ns netns.NsHandle) error {
	if !ns.IsOpen() {
		return nil
	}
	return ns.Close()
}

// in calls f with a connection to the devices of a namespace.
func in(ns netns.NsHandle, f func(*netlink.Handle) error) error {
	h, err := netlink.NewHandleAt(ns)
	if err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	defer h.Close()
	return f(h)
}

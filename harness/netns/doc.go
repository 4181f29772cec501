// Package netns gives every node of a cluster a network of its own on this
// machine: network namespaces joined by a bridge, so that links between child
// processes can be cut as those between machines are.
//
// It owns the namespaces, their devices and addresses and must not know what
// runs in them or which fault is made. harness/process asks it for one Switch a
// cluster; its methods may be called from any goroutine. It needs
// CAP_NET_ADMIN and CAP_SYS_ADMIN; Check says whether this process may.
//
// Namespaces have no names: they live as long as kbench holds them or a process
// runs in them, so that nothing has to be removed after a kill. The bridge is
// in a namespace of its own, out of reach of this machine's firewall, which may
// drop what Docker did not allow. The one device that the machine sees is the
// end of the cable from kbench to the bridge, named kbench- and eight digits;
// it goes with the bridge, and Sweep removes one that did not.
//
//	s, err := netns.NewSwitch()
//	defer s.Close()
//	ns, err := s.Attach()            // ns.Addr() is 10.19x.y.2
//	err = ns.Do(cmd.Start)           // the child lives in it
package netns

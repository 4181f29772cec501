package netns

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"

	"kbench/harness/child"
)

// Sweep removes the devices of runs whose kbench process is gone, and names
// them. The kernel does so by itself unless somebody else holds their network.
// Without the right to, there are none.
func Sweep() (removed []string, err error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the devices: %w", err)
	}
	var errs []error
	for _, l := range links {
		a := l.Attrs()
		if !strings.HasPrefix(a.Name, Prefix) || a.Alias == "" || child.Lives(a.Alias) {
			continue
		}
		if err := removeDevice(a.Name); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, "network device "+a.Name)
	}
	return removed, errors.Join(errs...)
}

// Check says why this process cannot have networks of its own, nil if it can:
// it makes one and removes it.
func Check() error { return Try(func() error { return nil }) }

// Try calls f in a node's namespace on a network that is removed afterwards. Its
// error is that of f, or says why there can be no such network.
func Try(f func() error) error {
	var n *Namespace
	s, err := NewSwitch()
	if err == nil {
		if n, err = s.Attach(); err != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("network namespaces cannot be made here: %w; be root on Linux (CAP_NET_ADMIN and CAP_SYS_ADMIN)", err)
	}
	return errors.Join(n.Do(f), s.Close())
}

package netns

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"

	"kbench/harness/child"
)

// Sweep removes the devices of runs whose kbench process, a child.Identity, is gone
// and one that mine knows, and names them; nil knows all. The kernel does so by
// itself unless somebody else holds their network. Without the right to, there are
// none.
func Sweep(mine func(owner string) bool) (removed []string, err error) {
	owners, err := devices()
	var errs []error
	for name, owner := range owners {
		if owner == "" || child.Lives(owner) || mine != nil && !mine(owner) {
			continue
		}
		if err := removeDevice(name); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, "network device "+name)
	}
	slices.Sort(removed)
	return removed, errors.Join(append(errs, err)...)
}

// Left names the devices of the kbench that has or had this pid.
func Left(pid int) (names []string, err error) {
	owners, err := devices()
	for name, owner := range owners {
		if strings.HasPrefix(owner, strconv.Itoa(pid)+" ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// devices are those of any kbench that this machine sees, with their owners.
func devices() (owners map[string]string, err error) {
	links, err := whole(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list the devices: %w", err)
	}
	owners = map[string]string{}
	for _, l := range links {
		if a := l.Attrs(); strings.HasPrefix(a.Name, Prefix) {
			owners[a.Name] = a.Alias
		}
	}
	return owners, nil
}

// maxLists bounds how often a list is asked for.
const maxLists = 50

// whole asks the kernel for a list again where others changed it meanwhile, as
// they do while another cluster comes or goes: what it gave may lack an entry.
func whole[T any](list func() ([]T, error)) (all []T, err error) {
	for range maxLists {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
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

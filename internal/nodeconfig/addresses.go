package nodeconfig

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"kbench/kafka"
)

// addresses collects those that the nodes of a configuration listen on, so that
// no two of them are the same.
type addresses struct {
	fault faults
	taken map[string]string // the field that has an address
}

// checkAddresses reports the faults of where the process listens and of whom it
// dials.
func (c *Config) checkAddresses(fault faults) {
	a := addresses{fault, map[string]string{}}
	if c.Role == RoleZooKeeper {
		a.host("zkServer.host", c.ZKServer.Host, false)
		a.take("zkServer", c.ZKServer.Host, c.ZKServer.Port)
	}
	for i, b := range c.Brokers {
		field := fmt.Sprintf("brokers[%d]", i)
		a.host(field+".host", b.Host, true)
		a.take(field, b.Host, b.Port)
		for j, e := range b.Listeners {
			a.take(fmt.Sprintf("%s.listeners[%d]", field, j), b.Host, e.Port)
		}
	}
	for i, v := range c.Quorum.Voters {
		field := fmt.Sprintf("quorum.voters[%d]", i)
		a.host(field+".host", v.Host, true)
		a.take(field, v.Host, v.Port)
	}
	if c.Quorum.Dynamic() {
		a.host("quorum.host", c.Quorum.Host, true)
		a.take("quorum", c.Quorum.Host, c.Quorum.Port)
	}
	if c.Profile.Port != 0 {
		a.host("profile.host", c.Profile.Host, false)
		a.take("profile", c.Profile.Host, c.Profile.Port)
	}
	a.servers("quorum.bootstrap", c.Quorum.Bootstrap)
	for i, s := range c.ZooKeeper.Servers {
		_, root, has := strings.Cut(s, "/")
		fault(has, "zookeeper.servers[%d] is %q, with the chroot /%s, which kbench does not support: a cluster's znodes are at the root of its ZooKeeper; leave the chroot out and give the cluster a ZooKeeper of its own", i, s, root)
		if has {
			return
		}
	}
	a.servers("zookeeper.servers", c.ZooKeeper.Servers)
}

// host judges the host of an address that the process listens on; one that
// others are told to dial must not mean all interfaces.
func (a addresses) host(field, host string, dialled bool) {
	if host == "" {
		a.fault(true, "%s is empty: give the name or IP address to listen on, such as 127.0.0.1", field)
		return
	}
	a.fault(!isHost(host), "%s is %q, which is neither a host name nor an IP address: give one, without scheme, brackets or port", field, host)
	ip, err := netip.ParseAddr(host)
	a.fault(dialled && err == nil && ip.IsUnspecified(), "%s is %s, which nobody can dial: give the address at which others reach it", field, host)
}

// take judges the port of an address that is listened on, and that no other
// field has it.
func (a addresses) take(field, host string, port uint16) {
	a.fault(port == 0, "%s.port is 0: give a free port", field)
	if host == "" || port == 0 {
		return
	}
	addr := kafka.Endpoint{Host: host, Port: port}.Addr()
	if first, taken := a.taken[addr]; taken {
		a.fault(true, "%s is at %s, as %s is: give it a port of its own", field, addr, first)
		return
	}
	a.taken[addr] = field
}

// servers judges a list of addresses to dial.
func (a addresses) servers(field string, list []string) {
	seen := map[string]bool{}
	for i, s := range list {
		host, port, err := net.SplitHostPort(s)
		n, notPort := strconv.ParseUint(port, 10, 16)
		switch {
		case strings.Contains(s, ","):
			a.fault(true, "%s[%d] is %q: write each server as an element of the list", field, i, s)
		case err != nil || !isHost(host):
			a.fault(true, "%s[%d] is %q: write host:port, or [::1]:port", field, i, s)
		case notPort != nil || n == 0:
			a.fault(true, "%s[%d] is %q: its port must be a number from 1 to 65535", field, i, s)
		case seen[s]:
			a.fault(true, "%s[%d] is %q, which is there already: name each server once", field, i, s)
		case a.taken[s] != "" && field != "quorum.bootstrap": // a voter may ask itself
			a.fault(true, "%s[%d] is %q, where %s listens: name the address of the store", field, i, s, a.taken[s])
		}
		seen[s] = true
	}
}

// isHost reports whether text can be the name or the address of a host.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	return text != "" && strings.Trim(text, "-.") == text && strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	}) < 0
}

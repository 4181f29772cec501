package netns

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// A switch has one of the 512 blocks of 1,022 addresses in 10.192.0.0/13, which
// are not those of harness/docker.
const (
	blocks     = 512
	blockBits  = 22
	firstBlock = 10<<24 | 192<<16
	subnetTry  = 50
)

func block(i int) netip.Prefix {
	base := uint32(firstBlock) + uint32(i)<<(32-blockBits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(base >> 24), byte(base >> 16), byte(base >> 8), byte(base)}), blockBits)
}

// freeSubnet draws a block to which this machine has no route.
func freeSubnet() (netip.Prefix, error) {
	used, err := routed()
	if err != nil {
		return netip.Prefix{}, err
	}
	for range subnetTry {
		if b := block(rand.IntN(blocks)); free(b, used) {
			return b, nil
		}
	}
	return netip.Prefix{}, errors.New("no free subnet in 10.192.0.0/13: this machine has routes to it; remove one")
}

func free(b netip.Prefix, used []netip.Prefix) bool {
	for _, u := range used {
		if u.Overlaps(b) {
			return false
		}
	}
	return true
}

// routed are the networks to which this machine has a route, but for the
// default.
func routed() ([]netip.Prefix, error) {
	routes, err := whole(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return nil, fmt.Errorf("list the routes: %w", err)
	}
	var out []netip.Prefix
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		addr, ok := netip.AddrFromSlice(r.Dst.IP.To4())
		ones, _ := r.Dst.Mask.Size()
		if ok && ones > 0 {
			out = append(out, netip.PrefixFrom(addr, ones))
		}
	}
	return out, nil
}

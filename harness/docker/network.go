package docker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
)

// bridge is the network of one run.
type bridge struct {
	net    *testcontainers.DockerNetwork
	subnet netip.Prefix
	next   netip.Addr
}

// A run's subnet is one of the 512 blocks of 1,022 addresses in 10.200.0.0/13.
const (
	blocks     = 512
	blockBits  = 22
	subnetTry  = 50
	firstBlock = 10<<24 | 200<<16
)

// newBridge makes a network on a subnet that neither the engine nor this host
// uses.
func newBridge(ctx context.Context, labels map[string]string) (*bridge, error) {
	var last error
	for range subnetTry {
		subnet := block(rand.IntN(blocks))
		if used(subnet) {
			continue
		}
		gateway := subnet.Addr().Next()
		n, err := tcnetwork.New(ctx, tcnetwork.WithLabels(labels), tcnetwork.WithIPAM(&network.IPAM{
			Driver: "default", Config: []network.IPAMConfig{{Subnet: subnet, Gateway: gateway}},
		}))
		if err == nil {
			b := &bridge{net: n, subnet: subnet, next: gateway.Next()}
			if !local(gateway) {
				return nil, errors.Join(errNotReachable, b.remove(ctx))
			}
			return b, nil
		}
		if last = err; !strings.Contains(err.Error(), "overlap") {
			break
		}
	}
	return nil, fmt.Errorf("make the network of the run: %w", last)
}

var errNotReachable = errors.New("the containers' network is not reachable from here: kbench measures over the engine's bridge, so run it on the engine's own host and outside a container, or use --provider process")

func block(i int) netip.Prefix {
	base := uint32(firstBlock) + uint32(i)<<(32-blockBits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(base >> 24), byte(base >> 16), byte(base >> 8), byte(base)}), blockBits)
}

// hostAddrs are the addresses of this host.
func hostAddrs() []netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr())
		}
	}
	return out
}

func used(subnet netip.Prefix) bool {
	for _, a := range hostAddrs() {
		if subnet.Contains(a) {
			return true
		}
	}
	return false
}

// local says whether an address is this host's.
func local(addr netip.Addr) bool {
	for _, a := range hostAddrs() {
		if a == addr {
			return true
		}
	}
	return false
}

// address gives the next free address.
func (b *bridge) address() (netip.Addr, error) {
	a := b.next
	if !b.subnet.Contains(a.Next()) { // the last is the broadcast address
		return a, fmt.Errorf("the network %v has no address left", b.subnet)
	}
	b.next = a.Next()
	return a, nil
}

func (b *bridge) remove(ctx context.Context) error {
	if b == nil {
		return nil
	}
	return b.net.Remove(ctx)
}

// removeNetwork is Remove for a network that was found by its labels.
func (e *Engine) removeNetwork(ctx context.Context, id string) error {
	_, err := e.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	return ignoreGone(err)
}

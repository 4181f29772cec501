package process

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken below the kernel's usual range for outgoing connections
// (32768 and above): a port of a killed node must not be taken by some
// client's socket before the node is started again.
const (
	portLow  = 16_000
	portHigh = 32_000
)

// FreePorts finds n ports on host that nobody listens on, for servers that start
// soon.
func FreePorts(host string, n int) ([]uint16, error) {
	taken, out := map[uint16]bool{}, make([]uint16, 0, n)
	for range n {
		port, err := freePort(host, taken)
		if err != nil {
			return nil, err
		}
		out = append(out, port)
	}
	return out, nil
}

// freePort finds a port on host that nobody listens on and that is not taken
// already, trying at most 2,000 times.
func freePort(host string, taken map[uint16]bool) (uint16, error) {
	for range 2000 {
		port := uint16(portLow + rand.IntN(portHigh-portLow))
		if taken[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
		if err != nil {
			continue
		}
		_ = l.Close()
		taken[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("no free port on %s between %d and %d: end what listens there", host, portLow, portHigh)
}

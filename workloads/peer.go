package workloads

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/wire"
)

// api names an API and the versions of it that workloads speak.
type api struct{ key, minVersion, maxVersion int16 }

// The APIs workloads use. Metadata 12 and CreateTopics 7 carry topic ids,
// Produce 9 is the last widely served one that names topics.
var (
	apiProduce                 = api{0, 3, 9}
	apiMetadata                = api{3, 7, 12}
	apiCreateTopics            = api{19, 4, 7}
	apiDeleteTopics            = api{20, 1, 5}
	apiCreatePartitions        = api{37, 0, 3}
	apiElectLeaders            = api{43, 1, 2}
	apiIncrementalAlterConfigs = api{44, 0, 1}
	apiReassign                = api{45, 0, 0}
	apiDescribeQuorum          = api{55, 0, 2}
	apiUpdateFeatures          = api{57, 1, 1}
	apiAddRaftVoter            = api{80, 0, 1}
	apiRemoveRaftVoter         = api{81, 0, 0}
)

// errNotServed means that a node does not serve an API at all.
var errNotServed = errors.New("not served")

// peer is the way to one node: a connection with the versions it serves,
// dialled when first needed and again after it broke. It may be used by many
// goroutines.
type peer struct {
	addr string
	as   *wire.Identity // nil: plain

	lock     chan struct{} // guards what follows, and can be waited for with a context
	conn     *wire.Conn
	versions wire.Versions
	closed   bool
}

func newPeer(n Node) *peer { return &peer{addr: n.Addr, as: n.As, lock: make(chan struct{}, 1)} }

// request sends req at the newest version that both sides speak.
func (p *peer) request(ctx context.Context, a api, req kmsg.Request) (kmsg.Response, error) {
	conn, versions, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	version, err := versions.Pick(a.key, a.minVersion, a.maxVersion)
	if err != nil {
		return nil, errors.Join(errNotServed, err)
	}
	req.SetVersion(version)
	return conn.Request(ctx, req)
}

func (p *peer) connect(ctx context.Context) (*wire.Conn, wire.Versions, error) {
	select {
	case p.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-p.lock }()
	if p.closed {
		return nil, nil, wire.ErrClosed
	}
	if p.conn != nil && p.conn.Err() == nil {
		return p.conn, p.versions, nil
	}
	conn, err := wire.Dial(ctx, p.addr, wire.DialOptions{ClientID: "kbench-workload"}.As(p.as))
	if err != nil {
		return nil, nil, err
	}
	versions, err := conn.APIVersions(ctx)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	if p.conn != nil {
		p.conn.Close()
	}
	p.conn, p.versions = conn, versions
	return conn, versions, nil
}

// close ends the connection; requests in flight fail.
func (p *peer) close() {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	p.closed = true
	if p.conn != nil {
		p.conn.Close()
	}
}

package workloads

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ask"
)

const (
	// probeWindow bounds the probes of one broker that wait for their answer.
	// A probe that finds it full is dropped: it would see nothing sooner.
	probeWindow = 16
	// probeTimeout bounds one probe.
	probeTimeout = 5 * time.Second
	// sweepTimeout bounds one question for all metadata of a cluster.
	sweepTimeout = 2 * time.Minute
)

// question is one thing to ask a node.
type question struct {
	api     api
	request kmsg.Request
	// answered hears of the answer, from many goroutines; resp is its own.
	answered func(resp kmsg.Response, doneNs int64)
}

// probe asks one broker at a constant rate.
type probe struct {
	node Node
	peer *peer
	ask  func() (question, bool) // false asks nothing this time

	answered atomic.Int64
	failed   atomic.Int64
	slips    slips // valid after run
}

// run probes until ctx ends and returns when every probe is over.
func (p *probe) run(ctx context.Context, startNs int64, pacer Pacer) {
	var wg sync.WaitGroup
	window := make(chan struct{}, probeWindow)
	p.slips = drive(ctx, startNs, 0, pacer, func(op) bool {
		q, ok := p.ask()
		if !ok {
			return true
		}
		select {
		case window <- struct{}{}:
		default:
			return false
		}
		wg.Go(func() {
			defer func() { <-window }()
			p.send(ctx, q)
		})
		return true
	})
	wg.Wait()
}

func (p *probe) send(ctx context.Context, q question) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resp, err := p.peer.request(ctx, q.api, q.request)
	done := trace.Now()
	if err != nil {
		p.failed.Add(1)
		return
	}
	p.answered.Add(1)
	q.answered(resp, done)
}

// probes is one probe for each of some brokers, started together.
type probes struct {
	all    []*probe
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func startProbes(ctx context.Context, nodes []Node, rate float64, ask func(Node) (question, bool)) *probes {
	ctx, cancel := context.WithCancel(ctx)
	ps := &probes{cancel: cancel}
	pacer := Constant{rate}
	start := trace.Now()
	for i, node := range nodes {
		p := &probe{
			node: node, peer: newPeer(node),
			ask: func() (question, bool) { return ask(node) },
		}
		ps.all = append(ps.all, p)
		// Spread over the period, so that brokers are not probed in step.
		offset := int64(pacer.Period()) * int64(i) / int64(len(nodes))
		ps.wg.Go(func() { p.run(ctx, start+offset, pacer) })
	}
	return ps
}

// startMetadataProbes asks for metadata. topics gives the names to ask a broker
// for now: nil asks nothing this time, an empty list asks for the brokers and
// the controller.
func startMetadataProbes(ctx context.Context, nodes []Node, rate float64, topics func(Node) []string, observe func(kafka.BrokerID, *kmsg.MetadataResponse, int64)) *probes {
	return startProbes(ctx, nodes, rate, func(n Node) (question, bool) {
		names := topics(n)
		if names == nil {
			return question{}, false
		}
		return question{apiMetadata, ask.Topics(names), func(resp kmsg.Response, doneNs int64) {
			observe(n.ID, resp.(*kmsg.MetadataResponse), doneNs)
		}}, true
	})
}

// warm waits until every broker has answered once.
func (ps *probes) warm(ctx context.Context, timeout time.Duration) error {
	for _, p := range ps.all {
		if err := await(ctx, timeout, fmt.Sprintf("an answer of broker %d to a probe", p.node.ID), func() bool { return p.answered.Load() > 0 }); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the probes and gives how they kept their times.
func (ps *probes) stop() slips {
	ps.cancel()
	ps.wg.Wait()
	var s slips
	for _, p := range ps.all {
		p.peer.close()
		s.merge(p.slips)
	}
	ps.all = nil
	return s
}

// sweep asks a broker for all metadata there is.
func sweep(ctx context.Context, p *peer) (*kmsg.MetadataResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	resp, err := p.request(ctx, apiMetadata, ask.Everything())
	if err != nil {
		return nil, fmt.Errorf("all metadata of %s: %w", p.addr, err)
	}
	return resp.(*kmsg.MetadataResponse), nil
}

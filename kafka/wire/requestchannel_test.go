package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// desk is a handler whose requests wait until the test lets them go: those of
// topics that begin with "parked" without a handler.
type desk struct {
	t    *testing.T
	mu   sync.Mutex
	in   []string // topics of requests under way, in the order they came
	seen []string // all, in that order
	open map[string]chan struct{}
}

func newDesk(t *testing.T) *desk { return &desk{t: t, open: map[string]chan struct{}{}} }

func (d *desk) handle(ctx context.Context, r *Request) (kmsg.Response, error) {
	topic := *r.Body.(*kmsg.MetadataRequest).Topics[0].Topic
	if strings.HasPrefix(topic, "fails") {
		return nil, errors.New("planted error")
	}
	if strings.HasPrefix(topic, "panics") {
		panic("planted panic")
	}
	gate := make(chan struct{})
	d.mu.Lock()
	d.in, d.seen, d.open[topic] = append(d.in, topic), append(d.seen, topic), gate
	d.mu.Unlock()
	if strings.HasPrefix(topic, "parked") {
		Park(ctx)
		Park(ctx) // and the second does nothing
	}
	<-gate
	d.mu.Lock()
	d.in = slices.DeleteFunc(d.in, func(s string) bool { return s == topic })
	d.mu.Unlock()
	return echoMetadata(ctx, r)
}

// awaitIn waits until these requests are under way, and no others.
func (d *desk) awaitIn(want ...string) {
	d.t.Helper()
	awaitTrue(d.t, fmt.Sprintf("requests %v under way", want), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Equal(d.in, want)
	})
}

func (d *desk) let(topic string) { close(d.gate(topic)) }

func (d *desk) gate(topic string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[topic]
}

// ask sends a request for a topic on a connection of its own; the channel gives
// how it ended.
func ask(t *testing.T, addr, topic string) <-chan error {
	t.Helper()
	c := dial(t, addr)
	done := make(chan error, 1)
	go func() {
		_, err := c.Request(testContext(t), metadataRequest(9, topic))
		done <- err
	}()
	return done
}

func (c *RequestChannel) counts() (busy, waiting, blocked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy, c.waiting.n, c.blocked.n
}

func (c *RequestChannel) await(t *testing.T, busy, waiting, blocked int) {
	t.Helper()
	awaitTrue(t, fmt.Sprintf("a channel with %d requests at handlers, %d in the queue, %d before it", busy, waiting, blocked), func() bool {
		b, w, l := c.counts()
		return b == busy && w == waiting && l == blocked
	})
}

func newChannel(t testing.TB, handlers, queued int) *RequestChannel {
	t.Helper()
	c, err := NewRequestChannel(handlers, queued)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHandlersTakeFromOneQueueInOrder(t *testing.T) {
	d, channel := newDesk(t), newChannel(t, 2, 10)
	cfg := ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: channel}
	first, _, _ := serve(t, cfg)
	second, _, _ := serve(t, cfg) // another listener of the same broker
	var done []<-chan error
	for i, addr := range []string{first, second, first, second, first} {
		done = append(done, ask(t, addr, fmt.Sprint(i)))
		channel.await(t, min(i+1, 2), max(i-1, 0), 0)
	}
	d.awaitIn("0", "1")
	d.let("1")
	d.awaitIn("0", "2")
	d.let("2")
	d.awaitIn("0", "3")
	d.let("0")
	d.awaitIn("3", "4")
	d.let("3")
	d.let("4")
	for i, one := range done {
		if err := <-one; err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	channel.await(t, 0, 0, 0)
}

func TestFullQueueStopsNetworkThreads(t *testing.T) {
	d, channel := newDesk(t), newChannel(t, 1, 2)
	addr, srv, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: channel, NetworkThreads: 1})
	var done []<-chan error
	for i, want := range []struct{ waiting, blocked int }{{0, 0}, {1, 0}, {2, 0}, {2, 1}} {
		done = append(done, ask(t, addr, fmt.Sprint(i)))
		channel.await(t, 1, want.waiting, want.blocked)
	}
	if srv.threads[0].mu.TryLock() {
		t.Error("the network thread does not wait for room")
	}
	for i := range done {
		topic := fmt.Sprint(i)
		d.awaitIn(topic)
		d.let(topic)
		if err := <-done[i]; err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	channel.await(t, 0, 0, 0)
}

// One network thread that waits for room leaves the others of its listener.
func TestNetworkThreadsAreSeveral(t *testing.T) {
	d, channel := newDesk(t), newChannel(t, 1, 1)
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: channel, NetworkThreads: 2})
	var done []<-chan error
	for i, blocked := range []int{0, 0, 1, 2} {
		done = append(done, ask(t, addr, fmt.Sprint(i)))
		channel.await(t, 1, min(i, 1), blocked)
	}
	for i := range done {
		topic := fmt.Sprint(i)
		d.awaitIn(topic)
		d.let(topic)
	}
	for i, one := range done {
		if err := <-one; err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestParkedRequestsHoldNoHandler(t *testing.T) {
	d, channel := newDesk(t), newChannel(t, 1, 10)
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: channel})
	parked := []string{"parked-1", "parked-2", "parked-3"}
	var done []<-chan error
	for i, topic := range parked {
		done = append(done, ask(t, addr, topic))
		d.awaitIn(parked[:i+1]...)
		channel.await(t, 0, 0, 0)
	}
	last := ask(t, addr, "not")
	d.awaitIn(append(parked, "not")...)
	channel.await(t, 1, 0, 0)
	for i, topic := range parked { // and they end beside it
		d.let(topic)
		if err := <-done[i]; err != nil {
			t.Errorf("%s: %v", topic, err)
		}
	}
	channel.await(t, 1, 0, 0)
	d.let("not")
	if err := <-last; err != nil {
		t.Error(err)
	}
	channel.await(t, 0, 0, 0)
}

// A connection has one request in the channel, and its answers are in order.
func TestPipelinedRequestsAreHandledOneByOne(t *testing.T) {
	d, channel := newDesk(t), newChannel(t, 8, 10)
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: channel})
	c := dial(t, addr)
	topics := []string{"1", "parked-2", "3"}
	var buf []byte
	for i, topic := range topics {
		buf = appendRequest(buf, metadataRequest(9, topic), int32(i), "tester")
	}
	if _, err := c.nc.Write(buf); err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		d.awaitIn(topic)
		d.let(topic)
	}
	awaitTrue(t, "three requests", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Equal(d.seen, topics)
	})
}

func TestControlPlaneIsNotBehindTheQueueOfData(t *testing.T) {
	d, data := newDesk(t), newChannel(t, 1, 1)
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: data, NetworkThreads: 1})
	control, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(echoMetadata)}, Requests: newChannel(t, 1, ControlPlaneQueuedRequests), NetworkThreads: 1})
	var done []<-chan error
	for i := range 3 {
		done = append(done, ask(t, addr, fmt.Sprint(i)))
		data.await(t, 1, min(i, 1), max(i-1, 0))
	}
	if err := <-ask(t, control, "UpdateMetadata"); err != nil {
		t.Error(err)
	}
	data.await(t, 1, 1, 1)
	for i := range done {
		topic := fmt.Sprint(i)
		d.awaitIn(topic)
		d.let(topic)
		<-done[i]
	}
}

func TestFailedRequestsGiveTheirHandlerBack(t *testing.T) {
	d, channel := newDesk(t), newChannel(t, 1, 10)
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: channel})
	for _, topic := range []string{"fails", "panics"} {
		if err := <-ask(t, addr, topic); err == nil {
			t.Errorf("%s: the connection survived", topic)
		}
		channel.await(t, 0, 0, 0)
	}
	if _, err := dial(t, addr).APIVersions(testContext(t)); err != nil {
		t.Error(err)
	}
	channel.await(t, 0, 0, 0)
}

// A client that leaves while its request is in the queue takes nobody's place.
func TestClientLeavesTheQueue(t *testing.T) {
	d, channel := newDesk(t), newChannel(t, 1, 10)
	addr, srv, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(d.handle)}, Requests: channel})
	holds := ask(t, addr, "holds")
	channel.await(t, 1, 0, 0)
	c := dial(t, addr)
	go func() { _, _ = c.Request(context.Background(), metadataRequest(9, "left")) }()
	channel.await(t, 1, 1, 0)
	c.Close()
	after := ask(t, addr, "after")
	channel.await(t, 1, 2, 0)
	for _, topic := range []string{"holds", "left", "after"} {
		d.awaitIn(topic)
		d.let(topic)
	}
	if err := errors.Join(<-holds, <-after); err != nil {
		t.Error(err)
	}
	channel.await(t, 0, 0, 0)
	awaitTrue(t, "the connection's end", func() bool {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		return len(srv.conns) == 2
	})
}

func TestNewRequestChannelRefuses(t *testing.T) {
	for _, bad := range [][2]int{{0, 1}, {1, 0}, {-1, 1}} {
		if _, err := NewRequestChannel(bad[0], bad[1]); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// BenchmarkRequestChannel is one request after the other over loopback, with handlers
// without bound and with Kafka's.
func BenchmarkRequestChannel(b *testing.B) {
	for name, channel := range map[string]*RequestChannel{"unbound": nil, "channel": newChannel(b, DefaultIOThreads, DefaultQueuedRequests)} {
		b.Run(name, func(b *testing.B) {
			addr, _, _ := serve(b, ServerConfig{APIs: []API{metadataAPI(echoMetadata)}, Requests: channel})
			c := dial(b, addr)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Request(context.Background(), metadataRequest(9, "a")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

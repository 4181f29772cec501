package interop

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// produce writes n records of random bytes to a topic with franz-go,
// idempotently and acknowledged by all in sync, and fails unless all are.
func (c *cluster) produce(t *testing.T, topic string, n, bytes int) {
	t.Helper()
	cl := c.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	records, random := make([]*kgo.Record, n), rand.NewChaCha8([32]byte{})
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Value: make([]byte, bytes)}
		_, _ = random.Read(records[i].Value)
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}

// produceOrders writes to the topic that all stories share.
func (c *cluster) produceOrders(t *testing.T) {
	t.Helper()
	const n = 100
	c.produce(t, orders, n, 100)
	c.held += n
}

// consume reads a topic from its beginning until it has n records.
func (c *cluster) consume(t *testing.T, topic string, n int, opts ...kgo.Opt) {
	t.Helper()
	cl := c.client(t, append(opts, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	got := 0
	for got < n {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records of %s came within %v: %v", got, n, topic, recovery, fetches.Err())
		}
		got += fetches.NumRecords()
	}
	if got != n {
		t.Fatalf("%s has %d records, not %d", topic, got, n)
	}
}

// client is one of franz-go that begins at the brokers that keep records and run.
func (c *cluster) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	var seeds []string
	for _, id := range c.keepers {
		if c.nodes[id].Running() {
			seeds = append(seeds, c.addr(id))
		}
	}
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(seeds...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// lines are n numbered lines for the console producer.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("line " + strconv.Itoa(i) + "\n")
	}
	return b.String()
}

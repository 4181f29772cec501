package broker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

func client(t testing.TB, r *zkRig, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	var seeds []string
	for _, p := range r.live() {
		seeds = append(seeds, p.addr())
	}
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(seeds...), kgo.RetryTimeout(deadline)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// An unaltered client sees the cluster, produces idempotently with acks=all
// and reads the offsets; a consumer passes through the log without records.
func TestFranzGo(t *testing.T) {
	r := newZKRig(t, 3)
	r.create("a", 6, 3)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cl := client(t, r)
	adm := kadm.NewClient(cl)
	m, err := adm.Metadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Brokers) != 3 || m.Controller != 1 || len(m.Topics["a"].Partitions) != 6 || m.Cluster == "" {
		t.Fatalf("metadata: %+v", m)
	}
	const n = 1000
	for i := range n {
		cl.Produce(ctx, &kgo.Record{Topic: "a", Partition: int32(i % 6), Value: fmt.Appendf(nil, "record %d", i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	ends, err := adm.ListEndOffsets(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	if sum != n {
		t.Fatalf("%d offsets for %d records", sum, n)
	}
	consumer := client(t, r, kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	short, stop := context.WithTimeout(ctx, 500*time.Millisecond)
	defer stop()
	fetches := consumer.PollFetches(short)
	if fetches.NumRecords() != 0 {
		t.Errorf("%d records came back", fetches.NumRecords())
	}
	for _, e := range fetches.Errors() {
		if short.Err() == nil {
			t.Errorf("consume: %+v", e)
		}
	}
}

// A leader that moves under load costs retries, not records: every one is
// acknowledged, and the offsets are as many as the records.
func TestProduceAcrossLeaderChanges(t *testing.T) {
	r := newZKRig(t, 3)
	r.create("a", 1, 3)
	tp := kafka.TopicPartition{Topic: "a"}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cl := client(t, r, kgo.MetadataMinAge(50*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.ProducerLinger(0))
	acked := make(chan struct{}, 10000)
	n := 0
	for round := range 6 {
		for range 50 {
			n++
			cl.Produce(ctx, &kgo.Record{Topic: "a", Value: []byte("x")}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
				acked <- struct{}{}
			})
			if n%10 == 0 {
				<-acked
				<-acked
			}
		}
		next := kafka.BrokerID(round%3 + 1)
		eventually(t, "the next leader is in sync", func() bool {
			return len(r.isr(tp)) == 3
		})
		r.change(tp, func(s *metadata.Partition) { s.Leader = next })
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all replicas have all records", func() bool {
		for _, p := range r.live() {
			if i, _ := p.Replica(tp); i.LogEnd != kafka.Offset(n) {
				return false
			}
		}
		return true
	})
}

// Producer ids of all brokers differ, also past the end of a block.
func TestInitProducerID(t *testing.T) {
	r := newZKRig(t, 2)
	seen := map[int64]bool{}
	for i := range 7 {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version = 4
		resp := ask[*kmsg.InitProducerIDResponse](t, r.brokers[kafka.BrokerID(i%2+1)].addr(), req)
		if resp.ErrorCode != 0 || seen[resp.ProducerID] || resp.ProducerEpoch != 0 {
			t.Fatalf("request %d: %+v, seen %v", i, resp, seen)
		}
		seen[resp.ProducerID] = true
	}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.ProducerID, req.ProducerEpoch = 4, 1000, 3
	if resp := ask[*kmsg.InitProducerIDResponse](t, r.brokers[1].addr(), req); resp.ProducerID != 1000 || resp.ProducerEpoch != 4 {
		t.Errorf("an idempotent producer that bumps its epoch got %+v", resp)
	}
	req.TransactionalID = kmsg.StringPtr("tx")
	if resp := ask[*kmsg.InitProducerIDResponse](t, r.brokers[1].addr(), req); kafka.ErrorCode(resp.ErrorCode) != kafka.CoordinatorNotAvailable {
		t.Errorf("transactional: %+v", resp)
	}
}

func kcat(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("kcat")
	if err != nil && os.Getenv("KBENCH_REQUIRE_KCAT") != "" {
		t.Fatal("kcat is required here and not installed")
	}
	if err != nil {
		t.Skip("SKIPPED: kcat is not installed; apt-get install kcat runs this test")
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kcat %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// kcat, unaltered, lists, produces and consumes.
func TestKcat(t *testing.T) {
	r := newZKRig(t, 3)
	r.create("a", 2, 3)
	addr := r.brokers[2].addr()
	list := kcat(t, "", "-L", "-b", addr)
	for _, want := range []string{"3 brokers:", `topic "a" with 2 partitions:`, `partition 0, leader 1, replicas: 1,2,3, isrs: 1,2,3`, "(controller)"} {
		if !strings.Contains(list, want) {
			t.Errorf("kcat -L lacks %q:\n%s", want, list)
		}
	}
	kcat(t, "one\ntwo\nthree\n", "-P", "-b", addr, "-t", "a", "-p", "1")
	kcat(t, "four\n", "-P", "-b", addr, "-t", "a", "-p", "1", "-X", "enable.idempotence=true", "-X", "compression.codec=gzip")
	if i, _ := r.brokers[2].Replica(kafka.TopicPartition{Topic: "a", Partition: 1}); i.LogEnd != 4 {
		t.Errorf("log end %d, want 4", i.LogEnd)
	}
	offsets := kcat(t, "", "-Q", "-b", addr, "-t", "a:1:-1")
	if !regexp.MustCompile(`a \[1\] offset 4`).MatchString(offsets) {
		t.Errorf("kcat -Q: %s", offsets)
	}
	out := kcat(t, "", "-C", "-b", addr, "-t", "a", "-p", "1", "-o", "beginning", "-e", "-q")
	if out != "" {
		t.Errorf("kcat -C gave records: %q", out)
	}
}

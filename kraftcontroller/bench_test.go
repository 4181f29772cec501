package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// BenchmarkCreateTopics creates 90 topics of 100 partitions in each request,
// replication 3, at three controllers on one disk: just under the limit of
// 10,000 records an operation. One operation is one request.
func BenchmarkCreateTopics(b *testing.B) {
	cl := newCluster(b, 3, func(c *Config) {
		c.Raft.FetchTimeout, c.Raft.RequestTimeout, c.Machine.SessionTimeout = 5*time.Second, 5*time.Second, 30*time.Second
	})
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	conn, err := wire.Dial(context.Background(), cl.addr(cl.active(-1).id), wire.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	n := 0
	for b.Loop() {
		req := createTopics(fmt.Sprintf("t-%d-0", n), 100, 3)
		for i := range 89 {
			req.Topics = append(req.Topics, createTopics(fmt.Sprintf("t-%d-%d", n, i+1), 100, 3).Topics...)
		}
		n++
		resp, err := conn.Request(context.Background(), req)
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if t.ErrorCode != 0 {
				b.Fatal(kafka.ErrorCode(t.ErrorCode))
			}
		}
	}
	b.ReportMetric(float64(n*9000)/b.Elapsed().Seconds(), "partitions/s")
}

// reportLimit reports what was measured beside its limit, and as a share of it.
// More than 1 is a miss: whether it is one of this machine or of the code, a
// benchmark cannot say.
func reportLimit(b *testing.B, name, unit string, got, limit float64) {
	b.ReportMetric(got, name+"-"+unit)
	b.ReportMetric(limit, name+"-"+unit+"-limit")
	b.ReportMetric(got/limit, name+"-of-limit")
}

// percentile of durations, in milliseconds; it sorts them.
func percentile(d []time.Duration, p int) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return float64(d[min(len(d)*p/100, len(d)-1)].Microseconds()) / 1000
}

// timed appends how long do took.
func timed(b *testing.B, into *[]time.Duration, do func() error) {
	start := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	*into = append(*into, time.Since(start))
}

// BenchmarkCommittedChange is one small change from its request to its answer,
// with no linger: decision, fsync, fetch, fsync, fetch. Beside it stand what it
// cannot do without, measured in turn with it at p50: an fsync of as many bytes
// on the same disk, and a Fetch as one voter sends it to another, for the batch
// of that change. The limit is one of each and 1 ms.
func BenchmarkCommittedChange(b *testing.B) {
	cl := newCluster(b, 3, func(c *Config) { c.Machine.NoOpInterval = -1 })
	cl.broker(1)
	for _, fb := range cl.brokers {
		fb.stop()
	}
	cl.brokers = nil
	active := cl.active(-1)
	conn, err := wire.Dial(context.Background(), cl.addr(active.id), wire.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	file, err := os.Create(filepath.Join(cl.dir, "fsync"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var change, sync, trip []time.Duration
	n := 0
	for b.Loop() {
		n++
		from := active.c.client.LogEndOffset()
		timed(b, &change, func() error {
			resp, err := conn.Request(context.Background(), createTopics(fmt.Sprint("t-", n), 1, 1))
			if err == nil {
				err = kafka.ErrorCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode).Err()
			}
			return err
		})
		timed(b, &sync, func() error {
			if _, err := file.Write(make([]byte, 200)); err != nil {
				return err
			}
			return file.Sync()
		})
		timed(b, &trip, func() error { return fetchOnce(conn, active.c.View().Epoch, from) })
	}
	fsync, fetch := percentile(sync, 50), percentile(trip, 50)
	b.ReportMetric(fsync, "fsync-p50-ms")
	b.ReportMetric(fetch, "fetch-p50-ms")
	reportLimit(b, "change-p50", "ms", percentile(change, 50), fsync+fetch+1)
}

// fetchOnce fetches the batch at an offset as a follower does, of a replica that
// does not vote: a voter's fetch would acknowledge what that voter has not.
func fetchOnce(conn *wire.Conn, epoch kafka.LeaderEpoch, from kafka.Offset) error {
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = int32(epoch), int64(from), int32(epoch)
	p.PartitionMaxBytes, p.ReplicaDirectoryID = 8<<20, kafka.UUID{99}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = kafka.MetadataTopic, kafka.MetadataTopicID, append(t.Partitions, p)
	cluster := clusterID
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ClusterID, req.ReplicaState.ID = 17, &cluster, 9999
	req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch, req.Topics = 500, p.PartitionMaxBytes, -1, append(req.Topics, t)
	resp, err := conn.Request(context.Background(), req)
	if err != nil {
		return err
	}
	r := resp.(*kmsg.FetchResponse)
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return kafka.ErrorCode(r.ErrorCode).Err()
	}
	got := r.Topics[0].Partitions[0]
	if len(got.RecordBatches) == 0 {
		return errors.Join(errors.New("the fetch brings no batch"), kafka.ErrorCode(got.ErrorCode).Err())
	}
	return nil
}

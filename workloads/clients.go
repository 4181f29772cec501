package workloads

import (
	"context"
	"errors"
	"slices"

	"kbench/kafka"
)

// clients are ordinary clients of a sample of the cluster's partitions: they
// ask every broker for its leaders and produce to each partition.
type clients struct {
	sample []kafka.TopicPartition // sorted
	book   *leaderBook
	watch  *probes
	client *produceProbe
}

// startClients draws a sample of all partitions that have a leader, starts its
// clients and waits until each produce works. Its error leaves nothing running.
func (t *trialRun) startClients(ctx context.Context) (*clients, error) {
	live := liveBrokers(t.Cluster)
	if len(live) == 0 {
		return nil, errNoBroker
	}
	all, err := t.partitions(ctx, live[0])
	if err != nil {
		return nil, err
	}
	c := &clients{sample: samplePartitions(all, t.p.ProbePartitions, t.Seed, uint64(t.out.N))}
	t.count("partitions.probed", int64(len(c.sample)))
	c.book = newLeaderBook(c.sample)
	c.watch = startMetadataProbes(ctx, live, t.p.ProbeRate, c.book.ask, c.book.observe)
	c.client = startProduce(ctx, t.Cluster.Brokers(), c.sample, c.book.leader, t.p.ProbeRate)
	err = await(ctx, t.gate(), "a leader of each sampled partition", c.book.known)
	if err == nil {
		err = c.client.awaitAcks(ctx, t.gate(), 0)
	}
	if err != nil {
		t.stopClients(c)
		return nil, err
	}
	return c, nil
}

// partitions lists all partitions that a broker serves with a leader, sorted.
func (t *trialRun) partitions(ctx context.Context, n Node) ([]kafka.TopicPartition, error) {
	p := newPeer(n)
	defer p.close()
	m, err := sweep(ctx, p)
	if err != nil {
		return nil, err
	}
	var all []kafka.TopicPartition
	for tp := range servedBy(t.own(m)) {
		all = append(all, tp)
	}
	if len(all) == 0 {
		return nil, errors.New("the cluster has no partition with a leader; create some: partitions 1 or more")
	}
	slices.SortFunc(all, kafka.TopicPartition.Compare)
	return all, nil
}

// stopClients ends the clients and judges their generators. It may be called
// again.
func (t *trialRun) stopClients(c *clients) {
	if c == nil || c.watch == nil {
		return
	}
	watched, produced := c.watch.stop(), c.client.stop()
	c.watch = nil
	t.judge("probe", watched)
	t.judge("produce", produced)
}

// takeOutages records each partition's outage since the fault.
func (t *trialRun) takeOutages(book *outageBook) {
	record := t.Recorder.Histogram(MetricUnavailability, PhasePartition)
	outages, open := book.outages(), int64(0)
	for _, o := range outages {
		if !o.ended {
			open++
			continue
		}
		record(o.ns)
	}
	t.count("outages", int64(len(outages)))
	t.count("outages.open", open)
}

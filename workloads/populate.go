package workloads

import (
	"context"
	"errors"
)

// PopulateConfig says what Populate creates.
type PopulateConfig struct {
	Prefix             string // of the topics' names, which go on with a six-digit number
	Partitions         int    // in all; the last topic may be smaller than the others
	PartitionsPerTopic int    // 1 to 9000
	Replication        int    // at most the brokers there are
}

// Populate brings a cluster to a number of partitions through CreateTopics and
// waits until every live broker serves them all. Batches stay below 10,000
// metadata records and below jute.maxbuffer on both targets. Acknowledged
// topics go to rec's history; progress, which may be nil, hears of the
// partitions acknowledged so far.
func Populate(ctx context.Context, c Cluster, cfg PopulateConfig, rec Recorder, progress func(done, total int)) error {
	return errors.New("populate: not written")
}

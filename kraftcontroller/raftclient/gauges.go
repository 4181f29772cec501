package raftclient

const (
	raftBean = "kafka.server:type=raft-metrics,name="
	talkBean = "kbench.raft:type=voters,name=" // Kafka has none
)

// Gauges gives the metrics of the node's part in the quorum under Kafka's names.
// Each function may be called from any goroutine, at any time. Whole numbers where
// Kafka has fractions: rates a second, and poll-idle-ratio-avg in percent;
// current-state is the number of a raft.State. Kafka's current-vote-directory-id is
// a text, and has no gauge.
func (c *Client) Gauges() map[string]func() int64 {
	gauges := map[string]func() int64{}
	for name, of := range map[string]func(Metrics) int64{
		"current-state":                    func(m Metrics) int64 { return int64(m.State) },
		"current-leader":                   func(m Metrics) int64 { return int64(m.Leader) },
		"current-vote":                     func(m Metrics) int64 { return int64(m.Voted) },
		"current-epoch":                    func(m Metrics) int64 { return int64(m.Epoch) },
		"high-watermark":                   func(m Metrics) int64 { return int64(m.HighWatermark) },
		"log-end-offset":                   func(m Metrics) int64 { return int64(m.LogEndOffset) },
		"log-end-epoch":                    func(m Metrics) int64 { return int64(m.LogEndEpoch) },
		"number-of-voters":                 func(m Metrics) int64 { return int64(m.Voters) },
		"number-unknown-voter-connections": func(m Metrics) int64 { return int64(m.UnknownVoters) },
		"commit-latency-avg":               func(m Metrics) int64 { return m.Commit.Avg.Milliseconds() },
		"commit-latency-max":               func(m Metrics) int64 { return m.Commit.Max.Milliseconds() },
		"election-latency-avg":             func(m Metrics) int64 { return m.Election.Avg.Milliseconds() },
		"election-latency-max":             func(m Metrics) int64 { return m.Election.Max.Milliseconds() },
		"fetch-records-rate":               func(m Metrics) int64 { return int64(m.Fetched.PerSecond) },
		"append-records-rate":              func(m Metrics) int64 { return int64(m.Appended.PerSecond) },
		"poll-idle-ratio-avg":              func(m Metrics) int64 { return int64(100 * m.Idle) },
	} {
		gauges[raftBean+name] = func() int64 { return of(c.Metrics()) }
	}
	gauges[talkBean+"messages"] = func() int64 { return c.Traffic().Messages }
	gauges[talkBean+"bytes"] = func() int64 { return c.Traffic().Bytes }
	gauges[talkBean+"round-trips"] = func() int64 { return c.Traffic().RoundTrips }
	return gauges
}

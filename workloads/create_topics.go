package workloads

var createTopics = Workload{
	Kind:   "create-topics",
	Doc:    "create partitions through CreateTopics and measure the rate",
	Clock:  "from the first intended CreateTopics until every live broker serves every partition; the result is partitions per second",
	Params: []Param{trialsParam("1"), partitionsParam, perTopicParam, replicationParam, timeoutParam},
	run:    nil,
}

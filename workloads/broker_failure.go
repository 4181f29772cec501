package workloads

import "context"

var brokerFailure = Workload{
	Kind:   "broker-failure",
	Doc:    "kill, pause or isolate a broker",
	Clock:  "from the fault; detect: the controller declares the broker dead (white box); moved: every live broker serves a new leader of every partition it led; unavailability of a partition: from the first intended produce that is not acknowledged until the first acknowledged one",
	Params: []Param{howParam("kill", "pause", "isolate"), trialsParam("3"), probeRateParam, probePartitionsParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.loseBrokers(ctx, Fault(r.p.How))
	},
	hurts: true,
}

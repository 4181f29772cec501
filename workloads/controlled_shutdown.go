package workloads

import "context"

var controlledShutdown = Workload{
	Kind:   "controlled-shutdown",
	Doc:    "stop a broker with SIGTERM",
	Clock:  "from SIGTERM; granted: the controller lets the broker go (white box); moved: every other live broker serves a new leader of every partition it led; exit: its process has exited",
	Params: []Param{trialsParam("3"), probeRateParam, probePartitionsParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.loseBrokers(ctx, FaultStop)
	},
	hurts: true,
}

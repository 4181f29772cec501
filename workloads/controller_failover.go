package workloads

var controllerFailover = Workload{
	Kind:   "controller-failover",
	Doc:    "kill, pause or resign the active controller",
	Clock:  "from the fault; first-admin: an admin request of the open-loop stream that was due after the fault succeeds; detect, elect, load and push are white-box phases, each from the end of the one before",
	Params: []Param{howParam("kill", "pause", "resign"), trialsParam("3"), probeRateParam, probePartitionsParam, timeoutParam},
}

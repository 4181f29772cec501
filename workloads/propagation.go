package workloads

var propagation = Workload{
	Kind:   "propagation",
	Doc:    "create small topics at a rate and watch every broker serve them",
	Clock:  "from the intended time of a change until the first, the median and the last live broker serves it",
	Params: []Param{rateParam, durationParam, probeRateParam, probePartitionsParam, timeoutParam},
}

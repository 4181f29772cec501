// Package plan answers how large a cluster may become before it misses a
// service level objective (SLO), from run folders that measured a ladder of
// partitions.
//
// It owns the way from run folders to that answer: pooling runs that may be
// pooled, one value for each rung, the fit (package curve does the maths), the
// crossing with the objective, memory and log growth, a back-test, the next
// rung to measure, and the forms in which all of this is shown. It measures
// nothing and knows no cluster. A plan is made from what was measured: a cell
// that is not valid is left out and named, an axis that was not swept is not
// guessed, and what lies beyond the largest rung is marked with how far.
//
// A cost is fitted: a latency as it is, a rate as the time for each unit (its
// reciprocal), bytes as they are. A cost may stay or grow with the partitions,
// not fall.
//
// `kbench plan` calls it, on one goroutine; a Plan is not changed after Make.
//
//	slo, err := plan.ParseSLO("recovery.controller < 10s")
//	...
//	p, err := plan.Make([]*results.Run{run}, plan.Options{SLOs: []plan.SLO{slo}})
//	...
//	fmt.Print(p.Text())
package plan

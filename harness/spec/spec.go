package spec

import (
	"kbench/results"
	"kbench/workloads"
)

// Spec is a whole benchmark. It is never changed once Parse has returned it;
// slices must not be written to by callers.
type Spec struct {
	Name       string
	Targets    []Target // in the order written, no doubles
	Base       Config   // cluster and set, before variants and sweep
	Set        []Assignment
	Sweep      []Axis
	Workloads  []Workload
	Variants   []Variant
	Thresholds []results.Threshold
	// Faults are made beside every load with a duration, in the order written.
	Faults  []workloads.TimedFault `json:",omitempty"`
	Trials  int                    // injected events per workload and cell, where the workload says nothing
	Repeats int                    // times that each cell is run on a new cluster
	// Retries is how often a cell that turned out invalid is run again on a new
	// cluster, 0 to 10. A broken invariant is never tried again: it is a finding.
	Retries  int   `json:",omitempty"`
	Seed     int64 // of everything random in a run
	Provider Provider
	Attach   *Attach `json:",omitempty"` // of target attach

	base []assigned // what was written, for expansion
}

// Assignment gives a setting a value, both in canonical form.
type Assignment struct {
	Path  string
	Value string
}

// assigned is an Assignment with where it was written.
type assigned struct {
	Assignment
	at Place
}

// Axis is one dimension of the sweep.
type Axis struct {
	Path   string   // canonical path of a setting
	Values []string // in the order written, no doubles
	at     Place
}

// Variant is a named change of settings. It makes a cell for each target that
// one of its settings acts on; the base makes a cell without a variant.
type Variant struct {
	Name string
	Set  []Assignment // in the order written
	// Only bounds the variant to some points of the sweep: of each axis named
	// here, to these of its values. Nothing here means every point.
	Only []Axis `json:",omitempty"`

	set []assigned
	at  Place
}

// TargetNames returns the targets as text.
func (s *Spec) TargetNames() []string {
	names := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		names[i] = string(t)
	}
	return names
}

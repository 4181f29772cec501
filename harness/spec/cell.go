package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"kbench/workloads"
)

// BaseVariant names the cells to which no variant was applied.
const BaseVariant = "base"

// maxCells bounds the matrix: more is surely a mistake in the sweep.
const maxCells = 10_000

// Cell is one cluster to build and the workloads to run on it.
type Cell struct {
	ID        string // unique in the spec and fit for file names, such as kraft.base.partitions-10k
	Target    Target
	Variant   string       // BaseVariant where none applies
	Point     []Assignment // the values of the sweep's axes, in the spec's order
	Config    Config
	Workloads []Workload
	Faults    []workloads.TimedFault // beside every load with a duration
	Hash      string                 // of everything above but ID; equal cells have equal hashes
}

// Cells expands the spec: for each point of the sweep, the base and each
// variant, each target. The targets of one point stand side by side, so that
// they are measured close in time.
func (s *Spec) Cells() []Cell {
	var cells []Cell
	for point := range s.points() {
		for _, v := range append([]Variant{{Name: BaseVariant}}, s.Variants...) {
			for _, t := range s.Targets {
				if v.Name == BaseVariant || v.actsOn(t) && v.isAt(point) {
					cells = append(cells, s.cell(t, v, point))
				}
			}
		}
	}
	return cells
}

// points yields every combination of axis values, the last axis fastest.
func (s *Spec) points() func(yield func([]assigned) bool) {
	return func(yield func([]assigned) bool) {
		var walk func(i int, point []assigned) bool
		walk = func(i int, point []assigned) bool {
			if i == len(s.Sweep) {
				return yield(slices.Clone(point))
			}
			for _, v := range s.Sweep[i].Values {
				if !walk(i+1, append(point, assigned{Assignment{s.Sweep[i].Path, v}, s.Sweep[i].at})) {
					return false
				}
			}
			return true
		}
		walk(0, nil)
	}
}

// actsOn reports whether the variant changes anything for a target: a variant
// of kraft settings would measure zk twice.
func (v Variant) actsOn(t Target) bool {
	return slices.ContainsFunc(v.Set, func(a Assignment) bool {
		s, _ := settingAt(a.Path)
		return s.actsOn(t)
	})
}

// isAt reports whether the variant is measured at a point of the sweep.
func (v Variant) isAt(point []assigned) bool {
	for _, only := range v.Only {
		if !slices.ContainsFunc(point, func(a assigned) bool {
			return a.Path == only.Path && slices.Contains(only.Values, a.Value)
		}) {
			return false
		}
	}
	return true
}

func (s *Spec) cell(t Target, v Variant, point []assigned) Cell {
	c := Cell{
		Target: t, Variant: v.Name, Point: plain(point),
		Config: resolve(slices.Concat(s.base, v.set, point)).asRun(t),
	}
	for _, w := range s.Workloads {
		c.Workloads = append(c.Workloads, w.in(c.Config.Cluster))
	}
	c.Faults = s.Faults
	return c.As(v.Name)
}

// Networked reports whether the nodes of the cell must have a network each:
// links between them are cut by a workload, or are poor throughout.
func (c Cell) Networked() bool {
	return c.Config.Network != NetworkTuning{} || slices.ContainsFunc(c.Workloads, Workload.Severs) ||
		slices.ContainsFunc(c.Faults, func(f workloads.TimedFault) bool { k, _ := faultKind(f.Fault); return k.network })
}

// Slows reports whether a fault of the timeline delays packets.
func (c Cell) Slows() bool {
	return slices.ContainsFunc(c.Faults, func(f workloads.TimedFault) bool { return f.Fault == workloads.FaultDelay })
}

// DiskFaults reports whether the nodes of the cell must have a file layer in
// which faults can be injected.
func (c Cell) DiskFaults() bool {
	return slices.ContainsFunc(c.Faults, func(f workloads.TimedFault) bool {
		return f.Fault == workloads.FaultFsyncDelay || f.Fault == workloads.FaultFsyncError || f.Fault == workloads.FaultDiskFull || f.Fault == workloads.FaultLogDir
	})
}

// As gives the cell under another variant's name, which must be fit for file
// names: so that cells of two specs can stand in one run.
func (c Cell) As(variant string) Cell {
	c.Variant = variant
	parts := []string{string(c.Target), variant}
	for _, a := range c.Point {
		name := strings.TrimPrefix(a.Path, "cluster.")
		parts = append(parts, strings.ReplaceAll(name, ".", "_")+"-"+a.Value)
	}
	c.ID = strings.Join(parts, ".")
	c.Hash = hash(struct {
		Target    Target
		Variant   string
		Config    Config
		Workloads []Workload
		Faults    []workloads.TimedFault `json:",omitempty"`
	}{c.Target, c.Variant, c.Config, c.Workloads, c.Faults})
	return c
}

// resolve applies assignments in order onto the defaults of the timer profile
// that they choose.
func resolve(set []assigned) Config {
	c := defaultConfig()
	for _, a := range set {
		if a.Path == "cluster.timeouts" {
			c.useProfile(Timeouts(a.Value))
		}
	}
	for _, a := range set {
		if s, ok := settingAt(a.Path); ok {
			// The value was parsed before: it is canonical.
			_ = s.set(&c, a.Value)
		}
	}
	return c
}

// Hash identifies the normalised spec: two files that mean the same have the
// same hash.
func (s *Spec) Hash() string {
	return hash(struct {
		Spec  Spec
		Cells []Cell
	}{*s, s.Cells()})
}

func hash(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("spec: cannot hash: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

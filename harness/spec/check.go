package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/results"
	"kbench/workloads"
)

// settle resolves the base, fills in what depends on other keys and judges
// what no key alone can show: contradictions.
func (d *decoder) settle() {
	s := &d.spec
	s.Base = resolve(s.base)
	for _, a := range s.base {
		if !strings.HasPrefix(a.Path, "cluster.") {
			s.Set = append(s.Set, a.Assignment)
		}
	}
	for i := range s.Workloads {
		if err := s.Workloads[i].fill(s.Trials); err != nil && len(d.faults) == 0 {
			d.faultErr(s.Workloads[i].at, fmt.Sprintf("workloads[%d]", i), err)
		}
	}
	d.checkDoubles()
	d.checkWorkloadDoubles()
	d.checkAttach()
	d.fitOnly()
	d.checkVariants()
	d.checkThresholds()
	d.checkTimeline()
	if n := d.countCells(); n > maxCells {
		d.fault(s.Sweep[0].at, "sweep", fmt.Sprintf("makes %d cells", n), fmt.Sprintf("write at most %d; shorten an axis", maxCells))
		return
	}
	for point := range s.points() {
		for _, v := range append([]Variant{{Name: BaseVariant}}, s.Variants...) {
			if v.isAt(point) {
				d.checkCell(v, slices.Concat(s.base, v.set, point))
			}
		}
	}
}

func (d *decoder) countCells() int {
	n := (1 + len(d.spec.Variants)) * len(d.spec.Targets)
	for _, a := range d.spec.Sweep {
		if n *= len(a.Values); n > maxCells*maxAxis {
			break
		}
	}
	return n
}

// checkWorkloadDoubles finds a kind that is listed twice: its figures have one
// row, and two ways of making a fault must not be pooled in it.
func (d *decoder) checkWorkloadDoubles() {
	seen := make(map[string]Place)
	for i, w := range d.spec.Workloads {
		if before, double := seen[w.Kind]; double {
			d.fault(w.at, fmt.Sprintf("workloads[%d]", i), fmt.Sprintf("%s is also listed on %s", w.Kind, nearby(before, w.at)), "keep one here and run the other from a spec of its own")
			continue
		}
		seen[w.Kind] = w.at
	}
}

// checkDoubles finds settings that are given a value in two places.
func (d *decoder) checkDoubles() {
	seen := make(map[string]Place)
	for _, a := range d.spec.base {
		if before, double := seen[a.Path]; double {
			d.fault(a.at, a.Path, "is also set on "+nearby(before, a.at), "keep one")
		}
		seen[a.Path] = a.at
	}
	for _, axis := range d.spec.Sweep {
		if before, double := seen[axis.Path]; double {
			d.fault(axis.at, axis.Path, "is swept, but has a fixed value on "+nearby(before, axis.at), "keep the axis or the value")
		}
	}
	if d.spec.Base.Cluster.Timeouts != TimeoutsMatched {
		return
	}
	for _, path := range matchedPaths {
		if at, set := seen[path]; set {
			d.fault(at, path, "is set, but `timeouts: matched` makes the timers of both sides equal", "take it out, or write `timeouts: default`; a variant may change it")
		}
	}
}

// nearby names a place as seen from another one.
func nearby(p, from Place) string {
	if p.File == from.File && p.Line > 0 {
		return fmt.Sprintf("line %d", p.Line)
	}
	return p.String()
}

func (d *decoder) checkVariants() {
	for i, v := range d.spec.Variants {
		path := fmt.Sprintf("variants[%d]", i)
		if len(v.Set) > 0 && !slices.ContainsFunc(d.spec.Targets, v.actsOn) {
			d.fault(v.at, path, fmt.Sprintf("%q sets nothing that acts on %s", v.Name, strings.Join(d.spec.TargetNames(), " or ")), "add a target, or take the variant out")
		}
		for _, a := range v.set {
			for _, axis := range d.spec.Sweep {
				if axis.Path == a.Path {
					d.fault(a.at, path+".set."+a.Path, "is swept too", "keep the axis or the variant")
				}
			}
		}
	}
}

// fitOnly fits the bounds of variants to the axes of the sweep. An axis of the
// command line may be a part of the spec's, and a variant that has no point left
// is not measured; any other bound that is no point of the sweep is a fault.
func (d *decoder) fitOnly() {
	var kept []Variant
	for i, v := range d.spec.Variants {
		left := true
		for j, only := range v.Only {
			at := slices.IndexFunc(d.spec.Sweep, func(a Axis) bool { return a.Path == only.Path })
			if at < 0 {
				d.fault(only.at, fmt.Sprintf("variants[%d].only", i), only.Path+" is not swept", "name an axis of the sweep, or take it out")
				continue
			}
			axis := d.spec.Sweep[at]
			var values []string
			for _, value := range only.Values {
				switch {
				case slices.Contains(axis.Values, value):
					values = append(values, value)
				case axis.at.Line > 0:
					d.fault(only.at, fmt.Sprintf("variants[%d].only", i), fmt.Sprintf("%s is no value of the axis %s", value, only.Path), "write some of "+strings.Join(axis.Values, ", "))
				}
			}
			v.Only[j].Values, left = values, left && len(values) > 0
		}
		if left || len(d.faults) > 0 {
			kept = append(kept, v)
		}
	}
	d.spec.Variants = kept
}

func (d *decoder) checkThresholds() {
	for i, t := range d.spec.Thresholds {
		at, path := d.thresholdAt[i].at, d.thresholdAt[i].path
		if names := d.spec.TargetNames(); t.Target != "" && !slices.Contains(names, t.Target) {
			d.fault(at, path, fmt.Sprintf("target %q is not measured by this spec", t.Target), "name one of "+strings.Join(names, ", "))
		}
		if len(d.spec.Workloads) > 0 && !slices.ContainsFunc(d.spec.Workloads, func(w Workload) bool { return results.Measures(w.Kind, t.Metric) }) {
			d.fault(at, path, "no workload of this spec measures "+t.Metric, "add the workload "+results.WorkloadOf(t.Metric))
		}
	}
}

// checkCell judges one resolved cluster. Each fault stands where the latest
// of the values involved was written.
func (d *decoder) checkCell(v Variant, set []assigned) {
	c := resolve(set)
	at := func(paths ...string) Place {
		for _, a := range slices.Backward(set) {
			if slices.Contains(paths, a.Path) {
				return a.at
			}
		}
		return d.rootAt
	}
	bad := func(what, cure string, paths ...string) {
		f := Fault{At: at(paths...), Path: paths[0], What: what, Cure: cure}
		if slices.Contains(d.faults, f) {
			return // the base has it too
		}
		if v.Name != BaseVariant {
			f.What += " in variant " + v.Name
		}
		d.faults = append(d.faults, f)
	}
	cl := c.Cluster
	found := slices.Equal(d.spec.Targets, []Target{AttachTarget}) // whose brokers are counted when it is found
	if cl.Replication > cl.Brokers && !found {
		bad(fmt.Sprintf("replication %d with %d brokers", cl.Replication, cl.Brokers), "write at most one replica for each broker", "cluster.replication", "cluster.brokers")
	}
	if cl.BrokersPerNode > cl.Brokers {
		bad(fmt.Sprintf("%d brokers in a node with %d brokers in all", cl.BrokersPerNode, cl.Brokers), "write at most cluster.brokers", "cluster.brokersPerNode", "cluster.brokers")
	}
	if cl.Controllers == Colocated && cl.BrokersPerNode > 1 && d.measures([]Target{KRaft, RaftPush}) {
		bad(fmt.Sprintf("colocated with %d brokers in a node: a process holds one voter", cl.BrokersPerNode), "write brokersPerNode 1, or a number of controllers", "cluster.controllers", "cluster.brokersPerNode")
	}
	if ensemble := at("cluster.ensemble"); cl.Store == StoreEmbedded && cl.Ensemble > 1 && ensemble != d.rootAt {
		bad(fmt.Sprintf("ensemble %d with the embedded store, which is single", cl.Ensemble), "write `store: zookeeper`, or take ensemble out", "cluster.ensemble")
	}
	c.Network.check(bad)
	d.checkTimers(c, bad)
	d.checkFaults(c, bad)
	d.checkKafka(c, bad)
	d.checkMetadataVersion(c, bad)
	d.checkSecurity(c, v, bad)
	d.checkLogDirs(c)
	d.checkRoster(c)
}

// measures reports whether the spec has a target of a group.
func (d *decoder) measures(group []Target) bool {
	return slices.ContainsFunc(d.spec.Targets, func(t Target) bool { return slices.Contains(group, t.Kind()) })
}

// leastNoOpInterval is the shortest that a node takes.
const leastNoOpInterval = 10 * time.Millisecond

func (d *decoder) checkTimers(c Config, bad func(what, cure string, paths ...string)) {
	if lo, hi := 2*c.ZK.TickTime, 20*c.ZK.TickTime; d.measures(zkTargets) && (c.ZK.SessionTimeout < lo || c.ZK.SessionTimeout > hi) {
		bad(fmt.Sprintf("%v, but ZooKeeper with tickTime %v grants only %v to %v", c.ZK.SessionTimeout, c.ZK.TickTime, lo, hi),
			fmt.Sprintf("set zk.tickTime to %v or less and at least %v", c.ZK.SessionTimeout/2, (c.ZK.SessionTimeout/20).Round(time.Millisecond)), "zk.sessionTimeout", "zk.tickTime")
	}
	if n := c.KRaft.NoOpInterval; d.measures(kraftTargets) && n > 0 && n < leastNoOpInterval {
		bad(fmt.Sprintf("%v would keep the controller writing", n), fmt.Sprintf("write %v or more, or 0s for none", leastNoOpInterval), "kraft.noop.interval")
	}
	if b := c.Broker; d.measures(kraftTargets) && b.HeartbeatInterval*2 > b.SessionTimeout {
		bad(fmt.Sprintf("%v leaves less than two heartbeats in the broker session of %v", b.HeartbeatInterval, b.SessionTimeout), "write at most half the session", "broker.heartbeatInterval", "broker.sessionTimeout")
	}
}

// checkFaults judges whether the cluster can survive what the workloads do.
func (d *decoder) checkFaults(c Config, bad func(what, cure string, paths ...string)) {
	for i, w := range d.spec.Workloads {
		path := fmt.Sprintf("workloads[%d]", i)
		d.checkRefusals(c, w, path)
		cl := c.Cluster
		switch w.Kind {
		case "controlled-shutdown", "broker-failure":
			if cl.Replication < 2 {
				d.fault(w.at, path, w.Kind+" with replication 1: no other broker can take a leader over", "write replication 2 or more")
			}
			if cl.Controllers == Colocated && cl.Brokers == 2 && d.measures(kraftTargets) {
				bad(fmt.Sprintf("2 brokers that are the voters with %s: one voter of two is no majority", w.Kind), "write brokers 3", "cluster.brokers", "cluster.controllers")
			}
		case "create-topics":
			if r := w.Params.Replication; r > cl.Brokers {
				d.fault(w.at, path+".replication", fmt.Sprintf("replication %d with %d brokers", r, cl.Brokers), "write at most one replica for each broker")
			}
		case "controller-failover":
			voters := cl.Controllers
			if voters == Colocated {
				voters = cl.Brokers
			}
			switch kraft := d.measures(kraftTargets); {
			case voters == 1:
				bad("1 controller with controller-failover: nobody can succeed", "write controllers 3", "cluster.controllers", "cluster.brokers")
			case voters == 2 && kraft && w.Params.How != "resign":
				bad("2 controllers with controller-failover: one voter of two is no majority", "write controllers 3", "cluster.controllers", "cluster.brokers")
			}
		}
	}
}

// checkRefusals asks the workload whether it can have each target's cluster.
func (d *decoder) checkRefusals(c Config, w Workload, path string) {
	kind, err := workloads.Lookup(w.Kind)
	if err != nil {
		return // it was found already
	}
	for _, t := range d.spec.Targets {
		if err := kind.Refuses(setupOf(c, t), w.Params); err != nil {
			what, cure, _ := strings.Cut(err.Error(), "; ")
			f := Fault{At: w.at, Path: path, What: fmt.Sprintf("%s with target %s: %s", w.Kind, t, what), Cure: cure}
			if !slices.Contains(d.faults, f) { // each cell is asked
				d.faults = append(d.faults, f)
			}
		}
	}
}

// setupOf is the cluster of a target as workloads are asked about it.
func setupOf(c Config, t Target) workloads.Setup {
	s := workloads.Setup{
		Mode: nodeconfig.ModeKRaft, Brokers: c.Cluster.Brokers, Controllers: c.Cluster.Controllers,
		Colocated: c.Cluster.Controllers == Colocated, Replication: c.Cluster.Replication,
		PerNode: c.Cluster.BrokersPerNode, Kafka: t.Kafka() != "",
	}
	if t.InZooKeeper() {
		s.Mode = nodeconfig.ModeZK
	}
	if s.Colocated {
		s.Controllers = s.Brokers
	}
	return s
}

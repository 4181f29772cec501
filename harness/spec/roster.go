package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kbench/workloads"
)

// firstController is the id of the first of the dedicated controllers.
const firstController = 1001

// roster is who there is in the cluster of a target for faults to meet.
type roster struct {
	target      Target
	brokers     crowd
	controllers crowd // all that may be the active one, brokers among them
	store       crowd
	perNode     int  // brokers in one process
	embedded    bool // the store may be the embedded server
}

// crowd is some processes that a name means: all that are numbered from lo to
// hi, or one of them.
type crowd struct {
	kind   string // broker, controller or zookeeper, which begins their names
	lo, hi int    // hi 0 for none
	one    bool   // which of them, the cluster decides
}

// String names the processes.
func (w crowd) String() string {
	if w.lo == w.hi {
		return fmt.Sprintf("%s-%d", w.kind, w.lo)
	}
	return fmt.Sprintf("%s-%d to %s-%d", w.kind, w.lo, w.kind, w.hi)
}

// anyOf is a crowd of which one is meant.
func (w crowd) anyOf() crowd {
	w.one = true
	return w
}

// meets reports whether two names mean a process in common, whatever the cluster
// decides.
func (w crowd) meets(o crowd) bool {
	if w.kind != o.kind || w.hi < o.lo || o.hi < w.lo {
		return false
	}
	some, other := w.one && w.lo < w.hi, o.one && o.lo < o.hi
	switch {
	case some && other:
		return false
	case some:
		return o.lo <= w.lo && w.hi <= o.hi
	case other:
		return w.lo <= o.lo && o.hi <= w.hi
	}
	return true
}

// maxColocatedVoters is how many brokers are voters too where controllers are
// colocated.
const maxColocatedVoters = 5

// rosterOf lists who there is. Of a cluster that is found nobody knows before.
func rosterOf(t Target, c Config) roster {
	cl := c.Cluster
	r := roster{target: t, brokers: crowd{kind: "broker", lo: 1, hi: cl.Brokers}, perNode: cl.BrokersPerNode}
	r.controllers = crowd{kind: "controller", lo: firstController, hi: firstController + cl.Controllers - 1}
	switch {
	case t == AttachTarget:
		r.brokers = crowd{kind: "broker", hi: math.MaxInt32}
		r.controllers = crowd{kind: "controller", hi: math.MaxInt32}
	case cl.Controllers != Colocated:
	case t.InZooKeeper():
		r.controllers = r.brokers
	default:
		r.controllers = crowd{kind: "broker", lo: 1, hi: min(cl.Brokers, maxColocatedVoters)}
	}
	if t.InZooKeeper() {
		r.store = crowd{kind: "zookeeper", lo: 1, hi: cl.Ensemble}
		r.embedded = cl.Store != StoreZooKeeper && t.Kafka() == ""
		if cl.Store == StoreEmbedded && t.Kafka() == "" {
			r.store.hi = 1
		}
	}
	return r
}

// embeddedStore is the name of the embedded server's process.
const embeddedStore = "zookeeper-embedded"

// find gives whom a name means. Where it can mean nobody it says why.
func (r roster) find(name string) (w crowd, why string) {
	switch name {
	case "brokers":
		return r.brokers, ""
	case "controllers":
		return r.controllers, ""
	case "controller":
		return r.controllers.anyOf(), ""
	case "standby":
		if r.controllers.lo == r.controllers.hi {
			return w, "its one controller is the active one"
		}
		return r.controllers.anyOf(), ""
	case "broker":
		if r.controllers == r.brokers && r.brokers.lo == r.brokers.hi {
			return w, "its one broker is the active controller"
		}
		return r.brokers.anyOf(), ""
	case "store", "store-leader", "store-follower", embeddedStore:
		return r.server(name)
	}
	return r.process(name)
}

// server finds servers of ZooKeeper by a role.
func (r roster) server(name string) (w crowd, why string) {
	switch {
	case r.store.hi == 0:
		return w, r.storeless()
	case name == embeddedStore && !r.embedded:
		return w, "its ZooKeeper is a real one"
	case name == embeddedStore:
		return crowd{kind: r.store.kind, lo: 1, hi: 1}, ""
	case name == "store":
		return r.store, ""
	case name == "store-follower" && r.store.hi == 1:
		return w, "its store is a single server, which leads"
	}
	return r.store.anyOf(), ""
}

func (r roster) storeless() string {
	if r.target == AttachTarget {
		return "kbench knows nothing of the store of a cluster that it did not start"
	}
	return "it has no ZooKeeper"
}

// process finds a process by its name, such as broker-2, or brokers-1-20 where
// some share one.
func (r roster) process(name string) (w crowd, why string) {
	kind, number, _ := strings.Cut(name, "-")
	first, last, several := strings.Cut(number, "-")
	lo, ok := numbered(first)
	hi := lo
	if several {
		more := false
		if hi, more = numbered(last); !more || hi <= lo || kind != "brokers" || hi-lo >= r.perNode {
			ok = false
		}
		kind = "broker"
	}
	for _, all := range []crowd{r.brokers, r.controllers, r.store} {
		if ok && all.kind == kind && all.lo <= lo && hi <= all.hi {
			return crowd{kind: kind, lo: lo, hi: hi}, ""
		}
	}
	if kind == "zookeeper" && r.store.hi == 0 {
		return w, r.storeless()
	}
	return w, fmt.Sprintf("it has no %q", name)
}

// numbered reads the number of a process, which has no leading zero.
func numbered(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == text
}

// offers says whom a fault may meet.
func (r roster) offers() string {
	var roles, processes []string
	for _, role := range Roles {
		if _, why := r.find(role.Name); why == "" {
			roles = append(roles, role.Name)
		}
	}
	for _, all := range []crowd{r.brokers, r.controllers, r.store} {
		if all.hi == math.MaxInt32 {
			processes = append(processes, all.kind+"-ID")
		} else if all.hi > 0 && !slices.Contains(processes, all.String()) {
			processes = append(processes, all.String())
		}
	}
	return fmt.Sprintf("write a role (%s) or a process (%s)", strings.Join(roles, ", "), strings.Join(processes, ", "))
}

// checkRoster refuses faults that meet nobody in a cluster, and those that meet
// a node on which another stands.
func (d *decoder) checkRoster(c Config) {
	for _, t := range d.spec.Targets {
		r := rosterOf(t, c)
		met := make([][]crowd, len(d.spec.Faults))
		for i, f := range d.spec.Faults {
			for j, on := range f.On {
				w, why := r.find(on)
				if why == "" {
					met[i] = append(met[i], w)
					continue
				}
				d.fault(d.written[i].subjects[j], d.written[i].path+".on", fmt.Sprintf("%s cannot have %s on %s: %s", t, f.Fault, on, why), r.offers())
			}
		}
		d.checkOverlaps(met)
	}
}

// checkOverlaps refuses a fault that begins while another stands on a node that
// it meets: it could not be made, or not be seen, before that one is undone.
// Which nodes roles mean is known when they are made, and judged again then.
func (d *decoder) checkOverlaps(met [][]crowd) {
	for i, f := range d.spec.Faults {
		for j, o := range d.spec.Faults {
			later := o.At < f.At || o.At == f.At && j < i
			if !later || f.At > o.At+o.For || f.Fault.Beside(o.Fault) {
				continue
			}
			if w, both := meet(met[i], met[j]); both {
				d.fault(d.written[i].at, d.written[i].path,
					fmt.Sprintf("%s begins at %s on %s, where %s stands from %s to %s (%s)", f.Fault, formatDuration(f.At), w, o.Fault, formatDuration(o.At), formatDuration(o.At+o.For), d.written[j].path),
					"begin it after that has healed, or name another node; "+workloads.BesideDoc)
			}
		}
	}
}

// meet finds whom two lists of names mean in common.
func meet(a, b []crowd) (crowd, bool) {
	for _, w := range a {
		for _, o := range b {
			if w.meets(o) {
				return crowd{kind: w.kind, lo: max(w.lo, o.lo), hi: min(w.hi, o.hi)}, true
			}
		}
	}
	return crowd{}, false
}

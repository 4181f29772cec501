package checker

import (
	"fmt"
	"slices"

	"kbench/kafka"
)

// equalImages compares every broker's view with the first one's.
func equalImages(views []View) Result {
	r := Result{Name: "equal-images"}
	if len(views) < 2 {
		return r
	}
	base, want := views[0].Broker, byName(views[0])
	for _, v := range views[1:] {
		have := byName(v)
		for _, name := range sortedNames(want, have) {
			r.Looked++
			a, b := want[name], have[name]
			switch {
			case b == nil:
				r.fault("topic %q is on broker %d and not on broker %d", name, base, v.Broker)
			case a == nil:
				r.fault("topic %q is on broker %d and not on broker %d", name, v.Broker, base)
			case a.ID != b.ID:
				r.fault("topic %q has id %s on broker %d and %s on broker %d", name, a.ID, base, b.ID, v.Broker)
			default:
				comparePartitions(&r, a, b, base, v.Broker)
			}
		}
	}
	return r
}

func sortedNames(a, b map[string]*Topic) []string {
	names := make([]string, 0, max(len(a), len(b)))
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if a[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func comparePartitions(r *Result, a, b *Topic, onA, onB kafka.BrokerID) {
	pa, pb := byIndex(a), byIndex(b)
	if len(pa) != len(pb) {
		r.fault("topic %q has %d partitions on broker %d and %d on broker %d", a.Name, len(pa), onA, len(pb), onB)
		return
	}
	for i := range pa {
		r.Looked++
		if x, y := pa[i].String(), pb[i].String(); x != y {
			r.fault("%s differs: %s on broker %d, %s on broker %d", a.Name, x, onA, y, onB)
		}
	}
}

func byIndex(t *Topic) []Partition {
	out := slices.Clone(t.Partitions)
	slices.SortFunc(out, func(x, y Partition) int { return int(x.Index) - int(y.Index) })
	return out
}

// String names all that must be equal; the ISR is a set.
func (p Partition) String() string {
	isr := slices.Sorted(slices.Values(p.ISR))
	return fmt.Sprintf("partition %d leader %d epoch %d replicas %v isr %v", p.Index, p.Leader, p.LeaderEpoch, p.Replicas, isr)
}

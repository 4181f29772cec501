package harness

import (
	"fmt"
	"strings"
	"testing"

	"kbench/harness/spec"
)

func side(t *testing.T, name, src string) Side {
	t.Helper()
	s, err := spec.Parse(name+".yaml", []byte(src+"\nworkloads: [{kind: controlled-shutdown}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	out := Side{Name: name, Spec: s}
	for _, c := range s.Cells() {
		out.Cells = append(out.Cells, c.As(name))
	}
	return out
}

func TestInterleave(t *testing.T) {
	units, matches, err := Interleave(side(t, "a", "sweep: {partitions: [1k, 2k]}\ntargets: [zk]"), side(t, "b", "sweep: {partitions: [2k, 1k]}\ntargets: [kraft]"), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, u := range units {
		order = append(order, fmt.Sprintf("%s+%s.%d", u[0].Cell.ID, u[1].Cell.ID, u[0].Repeat))
		if warm := u[0].Uncounted != ""; warm != (u[0].Repeat == 1) || u[0].Uncounted != u[1].Uncounted || u[0].Repeat != u[1].Repeat {
			t.Errorf("%+v", u)
		}
	}
	want := []string{
		"zk.a.partitions-1k+kraft.b.partitions-1k.1", "zk.a.partitions-2k+kraft.b.partitions-2k.1",
		"kraft.b.partitions-1k+zk.a.partitions-1k.2", "kraft.b.partitions-2k+zk.a.partitions-2k.2",
		"zk.a.partitions-1k+kraft.b.partitions-1k.3", "zk.a.partitions-2k+kraft.b.partitions-2k.3",
	}
	if strings.Join(order, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
	if len(matches) != 2 || matches[1].Point != "2k" || matches[1].Base != "zk.a.partitions-2k" {
		t.Errorf("%+v", matches)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct{ a, b, want, wrong string }{
		{"targets: [zk, kraft]", "targets: [kraft, zk]", "zk 1k, kraft 1k", ""},
		{"targets: [zk]\ncluster: {partitions: 1k}", "targets: [zk]\ncluster: {partitions: 5k}", "1k against 5k", ""},
		{"targets: [zk]", "targets: [kraft]", "1k", ""},
		{"targets: [zk, kraft]", "targets: [kraft]", "", "zk 1k of a; give both sides"},
		{"targets: [zk]\nsweep: {partitions: [1k, 2k]}", "targets: [kraft]\nsweep: {partitions: [1k, 4k]}", "", "2k of a, 4k of b"},
		{"targets: [zk]\nsweep: {brokers: [3, 4], zk.maxInFlight: [1, 10]}", "targets: [zk]\nsweep: {brokers: [3, 4], zk.maxInFlight: [1, 10]}", "brokers=3 zk.maxInFlight=1, brokers=3 zk.maxInFlight=10, brokers=4 zk.maxInFlight=1, brokers=4 zk.maxInFlight=10", ""},
	} {
		_, matches, err := Interleave(side(t, "a", c.a), side(t, "b", c.b), 1, 0)
		var got []string
		for _, m := range matches {
			got = append(got, m.Point)
		}
		if strings.Join(got, ", ") != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q against %q: %q, %v", c.a, c.b, got, err)
		}
	}
}

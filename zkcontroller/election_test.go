package zkcontroller

import (
	"context"
	"slices"
	"testing"

	"kbench/internal/trace"
	"kbench/zkcontroller/zk"
)

// A watch event of /controller says that something was so, not that it is: the
// controller must look before it resigns. Where it resigns on its own znode
// nobody is controller any more, and nothing would lead to an election.
func TestControllerSurvivesAnOldWatchEvent(t *testing.T) {
	c := newCluster(t)
	b := c.start(1, true)
	c.active()
	if err := b.controller.queue.put(event{kind: controllerDeleted}); err != nil {
		t.Fatal(err)
	}
	c.create("t", []int32{1})
	if !b.controller.Active() || slices.Contains(b.kinds(), trace.ControllerResigned) {
		t.Errorf("active: %v, trace %v", b.controller.Active(), b.kinds())
	}
}

// A controller that finds /controller gone, and wins it again, begins with an
// empty context: it resigns in between.
func TestControllerThatWinsAgainHasResigned(t *testing.T) {
	c := newCluster(t)
	b := c.start(1, true)
	c.active()
	c.create("t", []int32{1})
	b.controller.session.Unwatch(zk.ControllerPath) // the event of the deletion is late
	if r := c.zk.Do(context.Background(), zk.Delete(zk.ControllerPath, zk.AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	if err := b.controller.queue.put(event{kind: controllerChanged}); err != nil {
		t.Fatal(err)
	}
	c.eventually("it has epoch 2", func() bool { _, e := b.controllerSeen(); return e == 2 })
	kinds := b.kinds()
	resigned := slices.Index(kinds, trace.ControllerResigned)
	again := len(kinds) - 1 - slices.Index(reversed(kinds), trace.ControllerElected)
	if resigned < 0 || resigned > again {
		t.Errorf("it did not resign before its second election: %v", kinds)
	}
	c.create("u", []int32{1})
}

func reversed(kinds []trace.Kind) []trace.Kind {
	out := slices.Clone(kinds)
	slices.Reverse(out)
	return out
}

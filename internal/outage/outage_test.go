package outage

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"kbench/internal/zkhistory"
	"kbench/zkcontroller/zk"
)

// outage takes ZooKeeper away and gives it back.
type outage struct {
	name string
	// begin takes it away at once; it runs in the middle of a request.
	begin func(c *cluster, o *victims)
	end   func(c *cluster, o *victims)
}

// victims are the nodes that an outage meets, chosen before.
type victims struct{ controller, other *node }

var outages = []outage{
	{"stopped", func(c *cluster, _ *victims) { c.store.stop() }, func(c *cluster, _ *victims) { c.store.start() }},
	{"frozen", func(c *cluster, _ *victims) { c.store.freeze() }, func(c *cluster, _ *victims) { c.store.thaw() }},
	{"broker cut off", func(_ *cluster, v *victims) { v.other.line.set(true) }, func(_ *cluster, v *victims) { v.other.line.set(false) }},
	{"controller cut off", func(_ *cluster, v *victims) { v.controller.line.set(true) }, func(_ *cluster, v *victims) { v.controller.line.set(false) }},
}

// TestEmbedded strikes in the middle of each flow, in each way, at kbench's
// server. Sessions are short, and a machine that stands still makes more of them
// expire, which must not matter.
func TestEmbedded(t *testing.T) {
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, startEmbedded(t), 600*time.Millisecond)
			topic("base", 6)(c)
			for i, f := range flows {
				c.play(&f, &o, 3+i%4, i%2 == 1, time.Second)
			}
			c.judge()
		})
	}
}

// TestReal stops and kills a real ZooKeeper, in fewer flows.
func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	c := newCluster(t, startReal(t, 200*time.Millisecond), 500*time.Millisecond)
	topic("base", 6)(c)
	few := []string{"create", "reassign", "ISR change", "ACL change", "broker failure", "controller failover"}
	for i, f := range flows {
		if slices.Contains(few, f.name) {
			c.play(&f, &outages[(i/2)%2], 3+i%4, i%2 == 1, 1500*time.Millisecond)
		}
	}
	c.judge()
}

// judge looks at every write of a znode that there was.
func (c *cluster) judge() {
	c.t.Helper()
	r, err := zkhistory.Store(io.Discard, c.store.history(), zkhistory.Rules{}, nil)
	if err != nil || !r.OK() || r.Looked == 0 {
		c.t.Errorf("the history of the znodes: %+v, %v", r, err)
	}
	c.t.Logf("%d writes of znodes are sound", r.Looked)
}

// play lets a flow run into an outage that lasts for so long, and judges what is
// there after it.
func (c *cluster) play(f *flow, o *outage, requests int, after bool, lasts time.Duration) {
	c.t.Helper()
	began := time.Now()
	if f.prepare != nil {
		f.prepare(c)
	}
	var v *victims
	c.eventually(patience, f.name+": there is a controller to begin with", func() string {
		if v = (&victims{controller: c.active(), other: c.bystander()}); v.controller == nil || v.other == nil {
			return "there is none"
		}
		return ""
	})
	c.trip.arm(requests, after, func() { o.begin(c, v) })
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	first := make(chan error, 1)
	go func() { first <- f.try(ctx, c) }()
	select {
	case <-c.trip.struck:
	case <-time.After(300 * time.Millisecond): // the flow has fewer requests
	}
	c.trip.now()
	time.Sleep(lasts) // the outage itself, not a wait for anything
	o.end(c, v)
	ended := time.Now()
	err := <-first
	acked := err == nil
	for !acked && time.Since(ended) < convergence { // as a client does
		err = f.try(ctx, c)
		acked = err == nil
		if !acked {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if !acked {
		c.t.Fatalf("%s, %s: not acknowledged within %v of the outage: %v", f.name, o.name, convergence, err)
	}
	c.converge(ended, f.name+", "+o.name, func() string {
		if f.holds != nil {
			if m := f.holds(c); m != "" {
				return m
			}
		}
		return c.settled()
	})
	settled := time.Since(ended)
	if f.restore != nil {
		f.restore(c)
		c.eventually(patience, "all are back", c.settled)
	}
	c.t.Logf("%s, %s: settled %v after the outage, %v in all", f.name, o.name, settled.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// converge waits for what must be there within 30 s of an outage's end. The time
// begins anew, twice at most, where a session that nobody touches has expired
// meanwhile: then the machine is too busy for sessions as short as these.
func (c *cluster) converge(ended time.Time, what string, missing func() string) {
	c.t.Helper()
	for try := 0; ; try++ {
		quiet, err := zk.Connect(c.t.Context(), zk.Config{Servers: []string{c.store.addr()}, SessionTimeout: c.session, ConnectTimeout: patience})
		if err != nil {
			c.t.Fatal(err)
		}
		m := missing()
		for m != "" && time.Since(ended) < convergence {
			time.Sleep(5 * time.Millisecond)
			m = missing()
		}
		starved := quiet.Err() != nil
		_ = quiet.Close(context.Background())
		switch {
		case m == "":
			return
		case !starved || try == 2:
			c.t.Fatalf("%s: not settled within %v of the outage: %s", what, convergence, m)
		}
		c.t.Logf("%s: a session expired by itself: waiting on", what)
		ended = time.Now()
	}
}

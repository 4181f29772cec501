package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/harness/attach"
	"kbench/harness/clientconfig"
	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/workloads"
)

// attached is what a cell of a cluster that was found has in place of a
// provider: nothing is started, and what is removed is the topics it made.
type attached struct {
	provider.Provider // of which nothing is asked
	access            attach.Access
	how               *clientconfig.Client // nil: plaintext
	prefix            string
	found             bool
}

// Close removes the cell's topics. A cluster that was not found has none.
func (a *attached) Close(ctx context.Context) error {
	if !a.found {
		return nil
	}
	if _, err := a.access.Delete(ctx, func(topic string) bool { return strings.HasPrefix(topic, a.prefix) }); err != nil {
		return fmt.Errorf("topics that begin with %s may be left in the cluster: %w", a.prefix, err)
	}
	return nil
}

// openProvider makes what the cell's nodes live in.
func (run *cellRun) openProvider(ctx context.Context, name string) (provider.Provider, error) {
	if run.spec.Target != spec.AttachTarget {
		return run.Open(ctx, name)
	}
	a := &attached{access: attach.Access{Bootstrap: run.Spec.Attach.Bootstrap}, prefix: attach.Prefix(run.n)}
	if file := run.Spec.Attach.CommandConfig; file != "" {
		var err error
		if a.how, err = clientconfig.Load(file); err != nil {
			return nil, err
		}
		a.access.As, a.access.CommandConfig = &a.how.Identity, file
	}
	return a, nil
}

// attach finds the cluster that the spec names.
func (run *cellRun) attach(ctx context.Context) error {
	a, there := run.Spec.Attach, run.provider.(*attached)
	found, err := there.access.Find(ctx)
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	there.found = true
	run.cluster = newAttached(found, a.Command, there.prefix)
	run.cluster.clients = there.access.As
	if there.how != nil {
		run.out.Config["cluster.security"] = spec.SecurityOf(there.how.Protocol).String()
		run.out.Notes = append(run.out.Notes, "kbench's clients spoke "+there.how.String())
	}
	if n, most := run.spec.Config.Cluster.Replication, len(found.Brokers); n > most {
		return fmt.Errorf("attach: replication %d, and the cluster has %d brokers: write replication %d or less", n, most, most)
	}
	for _, w := range run.spec.Workloads {
		if err := run.cluster.hooked(w, a.Command); err != nil {
			return fmt.Errorf("attach: %w", err)
		}
	}
	run.out.Store = "as it was found: ZooKeeper"
	if found.KRaft {
		run.out.Store = "as it was found: metadata log"
	}
	run.out.Config["cluster.brokers"] = fmt.Sprint(len(found.Brokers))
	run.out.Config["cluster.controllers"] = fmt.Sprint(len(run.cluster.Controllers()))
	run.out.Notes = append(run.out.Notes, fmt.Sprintf("the cluster %s of %d brokers was there before: kbench started nothing, and made topics that begin with %s, which it removes in the end",
		found.ClusterID, len(found.Brokers), run.cluster.own))
	if slices.ContainsFunc(run.spec.Workloads, func(w spec.Workload) bool { return w.Fault() != "" }) {
		run.out.Notes = append(run.out.Notes, "faults were made by hooks of the user's; their clock starts when the hook does")
	}
	if err := run.cluster.WaitHealthy(ctx); err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	return nil
}

// newAttached is the cluster as it was found. In ZooKeeper mode every broker may
// be the controller; in KRaft the voters, where brokers may be among them.
func newAttached(found attach.Found, hooks attach.Hooks, own string) *cluster {
	c := &cluster{
		mode: nodeconfig.ModeZK, own: own, excluded: map[kafka.BrokerID]bool{}, severed: map[provider.Node]*severance{},
		starts: map[kafka.BrokerID]int{}, unserved: map[provider.Node]int{},
	}
	if found.KRaft {
		c.mode = nodeconfig.ModeKRaft
	}
	var ids []kafka.BrokerID
	for _, b := range found.Brokers {
		ids = append(ids, b.ID)
		racer := !found.KRaft || slices.Contains(found.Voters, b.ID)
		roles := []string{"broker"}
		if racer {
			roles = append(roles, "controller")
		}
		c.nodes = append(c.nodes, &node{id: b.ID, addr: b.Addr, worker: true, racer: racer, proc: attach.NewNode(b.ID, b.Addr, hooks, roles...)})
	}
	for _, id := range found.Voters {
		if !slices.Contains(ids, id) {
			c.nodes = append(c.nodes, &node{id: id, racer: true, proc: attach.NewNode(id, "", hooks, "controller")})
		}
	}
	return c
}

// hooked looks for the hooks that a workload needs on this very cluster.
func (c *cluster) hooked(w spec.Workload, hooks attach.Hooks) error {
	f := w.Fault()
	if f == "" {
		return nil
	}
	for _, need := range []workloads.Fault{f, f.Undo()} {
		for _, n := range c.nodes {
			controller := w.Kind == "controller-failover"
			has := hooks(string(need)+"-broker") != "" && n.worker || hooks(string(need)+"-controller") != "" && n.racer
			if (controller && n.racer || !controller && n.worker) && !has {
				role := "broker"
				if !n.worker {
					role = "controller"
				}
				return fmt.Errorf("%s may hurt %s, and there is no hook %s-%s", w.Kind, n.proc.Name(), need, role)
			}
		}
	}
	return nil
}

// owned takes the topics of others out of an answer, where the cluster has some.
func (c *cluster) owned(m *kmsg.MetadataResponse) *kmsg.MetadataResponse {
	if c.own != "" {
		m.Topics = slices.DeleteFunc(m.Topics, func(t kmsg.MetadataResponseTopic) bool {
			return t.Topic == nil || !strings.HasPrefix(*t.Topic, c.own)
		})
	}
	return m
}

// activeInFound asks the live brokers of a cluster that was found for the leader
// of its quorum: they ask it, and its voters' own listeners are not known.
func (c *cluster) activeInFound(ctx context.Context) (workloads.Node, error) {
	var last error
	for _, b := range c.Brokers() {
		if !b.Live {
			continue
		}
		p, err := describeQuorum(ctx, b)
		if err == nil {
			return c.liveController(kafka.BrokerID(p.LeaderID))
		}
		last = err
	}
	return workloads.Node{}, fmt.Errorf("no live broker tells the leader of the quorum: %w", last)
}

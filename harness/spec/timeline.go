package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kbench/workloads"
)

// Bounds of a timeline.
const (
	maxTimeline = 50
	maxSubjects = 20
)

// Roles are whom a fault of a timeline may meet beside processes by their names,
// such as broker-2, controller-1001 or zookeeper-1, with a line on each.
var Roles = []struct{ Name, Doc string }{
	{"controller", "the active controller when the fault is made"},
	{"standby", "a controller that is not the active one"},
	{"broker", "a broker that is not the active controller"},
	{"controllers", "all that may be the active controller"},
	{"brokers", "all that host replicas"},
	{"store", "every server of ZooKeeper"},
	{"store-leader", "the server of ZooKeeper that leads its ensemble"},
	{"store-follower", "one that does not"},
}

// FaultKind is one fault that a timeline may have.
type FaultKind struct {
	Fault workloads.Fault
	Doc   string
	// Probe says how it is seen to bite, and to heal.
	Probe string
	// Without lists who cannot have it, and why.
	Without string
	params  []string // beside kind, on and at
	network bool     // every node must have a network of its own
}

// diskless is why few nodes can have faults of their disk.
const diskless = "ours alone have an injected file layer: controllers of kraft and the embedded store; JVMs write their files themselves, brokers fetch again what their disks have lost, and the controllers of zk keep no metadata on disk; attach"

const separated = "process without root on Linux: links are cut in network namespaces; attach"

// FaultKinds are all faults of timelines, in the order of documents.
var FaultKinds = []FaultKind{
	{Fault: workloads.FaultStop, Doc: "SIGTERM, and started again", Probe: "its process has exited; it answers again", params: []string{"for"}},
	{Fault: workloads.FaultKill, Doc: "SIGKILL, and started again", Probe: "its process has exited; it answers again", params: []string{"for"}},
	{Fault: workloads.FaultPause, Doc: "SIGSTOP", Probe: "requests get no answer; they get one again", params: []string{"for"}},
	{Fault: workloads.FaultRestart, Doc: "SIGTERM, and started at once", Probe: "its process has exited; it answers again"},
	{Fault: workloads.FaultIsolate, Doc: "no packet reaches the node or leaves it", Probe: "packets from and to other nodes are lost; they pass again", params: []string{"for"}, network: true, Without: separated},
	{Fault: workloads.FaultCut, Doc: "no packet between the node and the store, or the other voters", Probe: "packets over these links alone are lost; they pass again", params: []string{"for"}, network: true, Without: separated},
	{Fault: workloads.FaultCutIn, Doc: "none comes to it from there", Probe: "packets in this direction alone are lost; they pass again", params: []string{"for"}, network: true, Without: separated},
	{Fault: workloads.FaultCutOut, Doc: "none goes from it to there", Probe: "packets in this direction alone are lost; they pass again", params: []string{"for"}, network: true, Without: separated},
	{Fault: workloads.FaultSplit, Doc: "no packet between those named and all others", Probe: "packets across are lost and within pass; all pass again", params: []string{"for"}, network: true, Without: separated},
	{Fault: workloads.FaultDelay, Doc: "of every packet that leaves, by netem; where the kernel has none, of every packet that arrives, by a queue in user space, which adds up to a millisecond", Probe: "a connection takes so much longer; it does not any more", params: []string{"for", "delay", "jitter"}, network: true, Without: separated + "; kernels without sch_netem and NFQUEUE"},
	{Fault: workloads.FaultLoss, Doc: "of packets that arrive", Probe: "of many packets some are lost; none are any more", params: []string{"for", "lossPerMille"}, network: true, Without: separated},
	{Fault: workloads.FaultRate, Doc: "bandwidth of all packets that leave", Probe: "a transfer takes as long as it must; it does not any more", params: []string{"for", "kbitPerSecond"}, network: true, Without: separated},
	{Fault: workloads.FaultFsyncDelay, Doc: "every fsync takes longer", Probe: "an fsync of its log took so long; the next one did not", params: []string{"for", "delay"}, Without: diskless},
	{Fault: workloads.FaultFsyncError, Doc: "every fsync fails; a node that ends of it is started again", Probe: "an fsync of its log failed; a later one did not", params: []string{"for"}, Without: diskless},
	{Fault: workloads.FaultDiskFull, Doc: "every write that needs room fails; a node that ends of it is started again", Probe: "a write of its log failed; a later one did not", params: []string{"for"}, Without: diskless},
	{Fault: workloads.FaultLogDir, Doc: "every fsync in the first log directory of a broker fails (`cluster.logDirs`), so that it goes on without the replicas there; it is stopped and started to have them again", Probe: "DescribeLogDirs has the error of the directory; it has none", params: []string{"for"}, Without: "brokers with one log directory, which end with it; brokers of real Kafka, which write their files themselves; attach"},
	{Fault: workloads.FaultCPU, Doc: "a quota of one processor's time, in periods of 100 ms", Probe: "the kernel counts periods under that quota; it has none any more", params: []string{"for", "cpuPercent"}, Without: "process where kbench may not write its control group; docker on another host; attach"},
	{Fault: workloads.FaultExpire, Doc: "its session with ZooKeeper ends while it runs on: it is cut off from the store for that long", Probe: "its registration is gone; it is there again with another session", network: true, Without: separated + "; kraft and kafka-kraft, which have no such session"},
}

// faultKind finds a kind by its name.
func faultKind(f workloads.Fault) (FaultKind, bool) {
	i := slices.IndexFunc(FaultKinds, func(k FaultKind) bool { return k.Fault == f })
	if i < 0 {
		return FaultKind{}, false
	}
	return FaultKinds[i], true
}

// timelineParams are the values of one entry.
var timelineParams = []param[workloads.TimedFault]{
	duration("at", 0, 24*time.Hour, "offset from the load's start", func(f *workloads.TimedFault) any { return &f.At }),
	duration("for", time.Millisecond, 24*time.Hour, "until it is undone", func(f *workloads.TimedFault) any { return &f.For }),
	duration("delay", time.Millisecond, time.Minute, "how much longer", func(f *workloads.TimedFault) any { return &f.Delay }),
	duration("jitter", 0, time.Minute, "how far a packet's delay may lie from it", func(f *workloads.TimedFault) any { return &f.Jitter }),
	count("lossPerMille", 1, 900, "packets of a thousand", func(f *workloads.TimedFault) any { return &f.LossPerMille }),
	count("kbitPerSecond", minKbit, 1_000_000, "bandwidth", func(f *workloads.TimedFault) any { return &f.KbitPerSecond }),
	count("cpuPercent", 1, 10_000, "of one processor", func(f *workloads.TimedFault) any { return &f.CPUPercent }),
}

// optional are parameters that need not be written.
var optional = []string{"jitter"}

const timelineExample = "[{at: 5s, for: 3s, kind: kill, on: controller}]"

// examples are values of the parameters that some kinds alone have.
var examples = map[string]string{"delay": "50ms", "jitter": "5ms", "lossPerMille": "50", "kbitPerSecond": "1000", "cpuPercent": "50"}

// example is how an entry of the kind may be written.
func (k FaultKind) example() string {
	out := "[{at: 5s"
	if slices.Contains(k.params, "for") {
		out += ", for: 3s"
	}
	out += fmt.Sprintf(", kind: %s, on: controller", k.Fault)
	for _, p := range k.params {
		if value, ok := examples[p]; ok && !slices.Contains(optional, p) {
			out += ", " + p + ": " + value
		}
	}
	return out + "}]"
}

// written is where a fault of the timeline stands in the spec, for messages. Those
// that could not be read are not in Spec.Faults, so a place there tells nothing.
type written struct {
	path     string // such as faults[2]
	at       Place
	subjects []Place // of those that it meets
}

// timeline reads the faults section.
func (d *decoder) timeline(n *node) {
	for i, item := range d.list(n, "faults", timelineExample, maxTimeline) {
		path := fmt.Sprintf("faults[%d]", i)
		if !d.isKind(item, path, nodeMapping, "write "+timelineExample) {
			continue
		}
		if f, ok := d.timedFault(item, path); ok {
			d.spec.Faults = append(d.spec.Faults, f)
			d.written = append(d.written, written{path, item.at, subjectsOf(item)})
		}
	}
}

func (d *decoder) timedFault(item *node, path string) (out workloads.TimedFault, ok bool) {
	before := len(d.faults)
	var names []string
	for _, k := range FaultKinds {
		names = append(names, string(k.Fault))
	}
	kindNode := item.lookup("kind")
	if kindNode == nil {
		d.fault(item.at, path+".kind", "missing", "there are "+strings.Join(names, ", "))
		return out, false
	}
	text, scalar := d.scalar(kindNode, path+".kind")
	if !scalar || !d.oneOf(kindNode, path+".kind", text, names) {
		return out, false
	}
	k, _ := faultKind(workloads.Fault(text))
	out.Fault = k.Fault
	known := append([]string{"kind", "on", "at"}, k.params...)
	for _, f := range d.fields(item, path, known) {
		full := join(path, f.key)
		if f.key == "on" {
			out.On = d.subjects(f.val, full)
		}
		p := slices.IndexFunc(timelineParams, func(p param[workloads.TimedFault]) bool { return p.path == f.key })
		if p < 0 {
			continue
		}
		if text, ok := d.scalar(f.val, full); ok {
			if err := timelineParams[p].set(&out, text); err != nil {
				d.faultErr(f.val.at, full, err)
			}
		}
	}
	for _, key := range known {
		if item.lookup(key) == nil && !slices.Contains(optional, key) {
			d.fault(item.at, join(path, key), "missing", "write "+k.example())
		}
	}
	if out.Jitter > out.Delay {
		d.fault(item.at, join(path, "jitter"), formatDuration(out.Jitter)+" with a delay of "+formatDuration(out.Delay), "write at most the delay")
	}
	return out, len(d.faults) == before
}

// subjectsOf gives where whom a fault meets is written.
func subjectsOf(item *node) (out []Place) {
	on := item.lookup("on")
	if on.kind != nodeList {
		return []Place{on.at}
	}
	for _, one := range on.items {
		out = append(out, one.at)
	}
	return out
}

// subjects reads one name or a list of them.
func (d *decoder) subjects(n *node, path string) []string {
	items := []*node{n}
	if n.kind == nodeList {
		items = d.list(n, path, "[controller, broker-1]", maxSubjects)
	}
	var out []string
	for _, item := range items {
		text, ok := d.scalar(item, path)
		switch {
		case !ok:
		case !isSlug(text):
			d.fault(item.at, path, fmt.Sprintf("%q names nobody", text), "write a role, which `kbench list faults` names, or a process such as broker-1")
		case slices.Contains(out, text):
			d.fault(item.at, path, text+" is listed twice", "keep one")
		default:
			out = append(out, text)
		}
	}
	return out
}

// checkTimeline judges the faults against the load that they stand beside, and
// refuses those that no target of the spec can have.
func (d *decoder) checkTimeline() {
	s := &d.spec
	var shortest *Workload // each plays all the faults
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if kind, err := workloads.Lookup(w.Kind); err == nil && kind.Timeline && (shortest == nil || w.Params.Duration < shortest.Params.Duration) {
			shortest = w
		}
	}
	for i, f := range s.Faults {
		path, at := d.written[i].path, d.written[i].at
		if shortest == nil {
			d.fault(at, path, "no workload of this spec plays faults beside its load", "add the workload propagation or mixed")
			return
		}
		if end := f.At + f.For; end > shortest.Params.Duration {
			d.fault(at, path, fmt.Sprintf("it ends at %s, after the load of %s, which %s takes", formatDuration(end), formatDuration(shortest.Params.Duration), shortest.Kind),
				"end it before, or write a longer duration")
		}
		for _, t := range s.Targets {
			if why := cannot(t, s, f); why != "" {
				d.fault(at, path, fmt.Sprintf("%s cannot have %s on %s: %s", t, f.Fault, strings.Join(f.On, ", "), why), "take it out, or measure that target by another spec")
			}
		}
	}
}

// cannot says why a target cannot have a fault; "" where it may.
func cannot(t Target, s *Spec, f workloads.TimedFault) string {
	if t == AttachTarget {
		return attachedCannot(s.Attach, f)
	}
	onStore := slices.ContainsFunc(f.On, func(on string) bool { return strings.HasPrefix(on, "store") || strings.HasPrefix(on, "zookeeper") })
	switch f.Fault {
	case workloads.FaultFsyncDelay, workloads.FaultFsyncError, workloads.FaultDiskFull:
		return diskCannot(t, s.Base, f, onStore)
	case workloads.FaultExpire:
		if !t.InZooKeeper() {
			return "its nodes have no session with ZooKeeper"
		}
		if onStore {
			return "a server of ZooKeeper has no session of its own"
		}
	}
	return ""
}

func diskCannot(t Target, c Config, f workloads.TimedFault, onStore bool) string {
	brokers := slices.ContainsFunc(f.On, func(on string) bool { return strings.HasPrefix(on, "broker") })
	ours := brokers && (t.Kafka() == "" || c.Kafka.Brokers != BrokersReal)
	switch {
	case ours && t.Kafka() != "" && t.InZooKeeper():
		return "its brokers keep no metadata on disk"
	case ours && !t.InZooKeeper():
		return "its brokers fetch metadata again that their disks have lost; name a controller of kraft"
	case t.Kafka() != "":
		return "JVMs write their files themselves, and no layer can be put under them"
	case t.InZooKeeper() && !onStore:
		return "its nodes keep no metadata on disk; name the store"
	case t.InZooKeeper() && c.Cluster.Store != StoreEmbedded:
		return "a real ZooKeeper is a JVM, which writes its files itself; write `store: embedded`"
	}
	return ""
}

// checkLogDirs refuses failing log directories to clusters that have none to lose.
func (d *decoder) checkLogDirs(c Config) {
	for i, f := range d.spec.Faults {
		if f.Fault != workloads.FaultLogDir {
			continue
		}
		on := strings.Join(f.On, ", ")
		for _, t := range d.spec.Targets {
			if why, cure := logDirCannot(t, c, f); why != "" {
				d.fault(d.written[i].at, d.written[i].path, fmt.Sprintf("%s cannot have %s on %s: %s", t, f.Fault, on, why), cure)
			}
		}
	}
}

func logDirCannot(t Target, c Config, f workloads.TimedFault) (why, cure string) {
	switch {
	case t == AttachTarget:
		return "no layer can be put under the files of nodes that kbench did not start", "take it out, or measure that target by another spec"
	case t.Kafka() != "" && c.Kafka.Brokers == BrokersReal:
		return "brokers of real Kafka write their files themselves, and no layer can be put under them", "write kafka.brokers: ours"
	case slices.ContainsFunc(f.On, func(on string) bool { return !strings.HasPrefix(on, "broker") }):
		return "brokers alone have log directories", "write on: broker, brokers, or a process such as broker-1"
	case c.Cluster.LogDirs < 2:
		return "its brokers have one log directory, and would end with it", "write cluster: {logDirs: 2}, or kill the broker"
	}
	return "", ""
}

// writeTimeline writes the faults in their normalised form.
func (s *Spec) writeTimeline(b *strings.Builder) {
	if len(s.Faults) == 0 {
		return
	}
	b.WriteString("faults:\n")
	for _, f := range s.Faults {
		k, _ := faultKind(f.Fault)
		fmt.Fprintf(b, "  - {kind: %s, on: [%s]", f.Fault, strings.Join(f.On, ", "))
		for _, p := range timelineParams {
			if p.path == "at" || slices.Contains(k.params, p.path) {
				fmt.Fprintf(b, ", %s: %s", p.path, p.get(&f))
			}
		}
		b.WriteString("}\n")
	}
}

// timelineSchema is the schema of the faults section.
func timelineSchema() object {
	var kinds []object
	for _, k := range FaultKinds {
		one := object{"type": "string"}
		properties := object{"kind": object{"const": string(k.Fault)}, "on": object{"anyOf": []object{one, listOf(one, maxSubjects, true, "several")}}}
		required := []string{"kind", "on", "at"}
		for _, p := range timelineParams {
			if p.path != "at" && !slices.Contains(k.params, p.path) {
				continue
			}
			properties[p.path] = schemaOf(p)
			if !slices.Contains(optional, p.path) && p.path != "at" {
				required = append(required, p.path)
			}
		}
		kinds = append(kinds, closed(properties, k.Doc, required...))
	}
	return listOf(object{"oneOf": kinds}, maxTimeline, false, "made and undone at their times beside every load with a duration")
}

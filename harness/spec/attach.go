package spec

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"kbench/workloads"
)

// Attach is a cluster that kbench does not start: where it is found, and what
// the user lets kbench do to its nodes.
type Attach struct {
	Bootstrap []string // host:port of brokers; one that answers is enough
	// CommandConfig is a properties file that says how clients connect, as Kafka's
	// tools take it by --command-config; "" is plaintext.
	CommandConfig string `json:",omitempty"`
	Hooks         []Hook // in the order of hookNames
}

// Hook is a command line of the user's that makes or undoes one fault.
type Hook struct {
	Name    string // FAULT-broker or FAULT-controller, such as kill-broker
	Command string // for /bin/sh -c
}

// hookNames are those that can be given.
var hookNames = func() (out []string) {
	for _, role := range []string{"broker", "controller"} {
		for _, f := range []workloads.Fault{workloads.FaultStop, workloads.FaultKill, workloads.FaultStart, workloads.FaultPause, workloads.FaultResume} {
			out = append(out, string(f)+"-"+role)
		}
	}
	return out
}()

// Command gives the command of a hook, "" where the user gave none.
func (a *Attach) Command(name string) string {
	if a == nil {
		return ""
	}
	for _, h := range a.Hooks {
		if h.Name == name {
			return h.Command
		}
	}
	return ""
}

// lacks names the hook that would make f to a broker, or to a controller, which may
// be a broker and has that one's hook then; "" where there is one.
func (a *Attach) lacks(f workloads.Fault, controller bool) string {
	hook := string(f) + "-broker"
	if controller && a.Command(hook) == "" {
		hook = string(f) + "-controller"
	}
	if a.Command(hook) != "" {
		return ""
	}
	return hook
}

// attachedKinds are the workloads that keep to topics of their own.
var attachedKinds = []string{"create-topics", "controlled-shutdown", "broker-failure", "controller-failover", "propagation"}

// Fault is what a workload does to nodes, "" where it does nothing.
func (w Workload) Fault() workloads.Fault {
	switch w.Kind {
	case "controlled-shutdown":
		return workloads.FaultStop
	case "broker-failure":
		return workloads.Fault(w.Params.How)
	case "controller-failover":
		if w.Params.How == "resign" {
			return workloads.FaultStop
		}
		return workloads.Fault(w.Params.How)
	}
	return ""
}

func (d *decoder) attach(n *node) {
	if !d.isKind(n, "attach", nodeMapping, "write {bootstrap: ['host:9092']}") {
		return
	}
	a := &Attach{}
	for _, f := range d.fields(n, "attach", []string{"bootstrap", "commandConfig", "hooks"}) {
		switch f.key {
		case "bootstrap":
			a.Bootstrap = d.bootstrap(f.val)
		case "commandConfig":
			a.CommandConfig = d.commandConfig(f.val)
		case "hooks":
			d.hooks(f.val, a)
		}
	}
	d.spec.Attach = a
}

func (d *decoder) bootstrap(n *node) (out []string) {
	for i, item := range d.list(n, "attach.bootstrap", "['host:9092']", 20) {
		path := fmt.Sprintf("attach.bootstrap[%d]", i)
		text, ok := d.scalar(item, path)
		if !ok {
			continue
		}
		if strings.Contains(text, "/") {
			d.fault(item.at, path, fmt.Sprintf("%q is no address of a broker, but of a ZooKeeper with a chroot or a URL", text), "write host:9092 of brokers; kbench finds the rest from them and needs no ZooKeeper")
			continue
		}
		host, port, err := net.SplitHostPort(text)
		if n, notPort := strconv.ParseUint(port, 10, 16); err != nil || host == "" || notPort != nil || n == 0 {
			d.fault(item.at, path, fmt.Sprintf("%q is not HOST:PORT", text), "write host:9092, or '[::1]:9092'")
			continue
		}
		out = append(out, text)
	}
	return out
}

// commandConfig takes the name of a file, which whoever reads it judges.
func (d *decoder) commandConfig(n *node) string {
	text, ok := d.scalar(n, "attach.commandConfig")
	switch {
	case !ok:
	case strings.TrimSpace(text) == "":
		d.fault(n.at, "attach.commandConfig", "is empty", "name a properties file as Kafka's tools take it, or take it out")
	case strings.Map(oneLine, text) != text:
		d.fault(n.at, "attach.commandConfig", "holds control characters", "name a file")
	}
	return text
}

func (d *decoder) hooks(n *node, a *Attach) {
	if !d.isKind(n, "attach.hooks", nodeMapping, "write {kill-broker: 'ssh node$KBENCH_NODE pkill -9 java'}") {
		return
	}
	for _, f := range d.fields(n, "attach.hooks", hookNames) {
		text, ok := d.scalar(f.val, "attach.hooks."+f.key)
		if ok && strings.TrimSpace(text) == "" {
			d.fault(f.val.at, "attach.hooks."+f.key, "is empty", "write a command line, or take it out")
		}
		a.Hooks = append(a.Hooks, Hook{f.key, text})
	}
	slices.SortFunc(a.Hooks, func(x, y Hook) int { return slices.Index(hookNames, x.Name) - slices.Index(hookNames, y.Name) })
}

// checkAttach judges what can be measured on a cluster that was found.
func (d *decoder) checkAttach() {
	s := &d.spec
	if !slices.Contains(s.Targets, AttachTarget) {
		if s.Attach != nil {
			d.fault(d.rootAt, "attach", "is written, but attach is no target of this spec", "write `targets: [attach]`")
		}
		return
	}
	if s.Attach == nil || len(s.Attach.Bootstrap) == 0 {
		d.fault(d.rootAt, "attach.bootstrap", "missing with target attach", "write `attach: {bootstrap: ['host:9092']}`, or --bootstrap host:9092")
	}
	for i, w := range s.Workloads {
		path := fmt.Sprintf("workloads[%d]", i)
		if !slices.Contains(attachedKinds, w.Kind) || w.Kind == "propagation" && w.Params.How != "" && w.Params.How != "create" {
			d.fault(w.at, path, strings.TrimSpace(w.Kind+" "+w.Params.How)+" with target attach: it would change more than topics of kbench's own", "there are "+strings.Join(attachedKinds, ", "))
			continue
		}
		f := w.Fault()
		if f == "" {
			continue
		}
		if f.Severs() {
			d.fault(w.at, path+".how", fmt.Sprintf("%s with target attach: kbench does not touch the network of nodes that it did not start", f), "write how: kill, or stop")
			continue
		}
		controller := w.Kind == "controller-failover"
		for _, need := range []workloads.Fault{f, f.Undo()} {
			hook := s.Attach.lacks(need, controller)
			if hook == "" {
				continue
			}
			says := w.Kind + " needs the hook " + hook
			if controller {
				says += " or, where brokers are the candidates, " + string(need) + "-broker"
			} else {
				says += ": kbench makes no fault by itself"
			}
			d.fault(w.at, path, says, fmt.Sprintf("write attach: {hooks: {%s: 'command'}}", hook))
		}
	}
}

// timedHooks are the hooks that make and undo a fault of a timeline, nil where
// none could.
func timedHooks(f workloads.Fault) []workloads.Fault {
	switch f {
	case workloads.FaultStop, workloads.FaultKill, workloads.FaultPause:
		return []workloads.Fault{f, f.Undo()}
	case workloads.FaultRestart:
		return []workloads.Fault{workloads.FaultStop, workloads.FaultStart}
	}
	return nil
}

// attachedCannot says why a cluster that was found cannot have a fault of a
// timeline, "" where it can.
func attachedCannot(a *Attach, f workloads.TimedFault) string {
	if f.Fault == workloads.FaultLogDir {
		return "" // checkLogDirs says it
	}
	need := timedHooks(f.Fault)
	if need == nil {
		return "kbench touches no network, disk or processor that is not its own; hooks stop, kill, restart and pause nodes"
	}
	for _, on := range f.On {
		for _, n := range need {
			if hook := a.lacks(n, strings.Contains(on, "controller")); hook != "" {
				return "there is no hook " + hook
			}
		}
	}
	return ""
}

// writeAttach writes the section in its normal form.
func writeAttach(b *strings.Builder, a *Attach) {
	if a == nil {
		return
	}
	b.WriteString("attach:\n")
	if len(a.Bootstrap) > 0 {
		quoted := make([]string, len(a.Bootstrap))
		for i, one := range a.Bootstrap {
			quoted[i] = quote(one)
		}
		fmt.Fprintf(b, "  bootstrap: [%s]\n", strings.Join(quoted, ", "))
	}
	if a.CommandConfig != "" {
		fmt.Fprintf(b, "  commandConfig: %s\n", quote(a.CommandConfig))
	}
	if len(a.Hooks) > 0 {
		b.WriteString("  hooks:\n")
	}
	for _, h := range a.Hooks {
		fmt.Fprintf(b, "    %s: %s\n", h.Name, quote(h.Command))
	}
}

func attachSchema() object {
	hooks := object{}
	for _, name := range hookNames {
		hooks[name] = object{"type": "string", "minLength": 1}
	}
	return closed(object{
		"bootstrap":     listOf(object{"type": "string", "pattern": `^.+:[0-9]+$`}, 20, false, "brokers as HOST:PORT; one that answers is enough"),
		"commandConfig": object{"type": "string", "minLength": 1, "description": "properties file of Kafka's clients, by which connections are secured"},
		"hooks":         closed(hooks, "command lines by which the user has nodes stopped, killed, paused and started again; KBENCH_NODE, KBENCH_ADDR and KBENCH_FAULT say which"),
	}, "a cluster that kbench does not start, for target attach")
}

package spec

import (
	"strings"
	"testing"
)

// A cluster that is found is measured by workloads that keep to their own
// topics, and hurt by hooks alone.
func TestAttach(t *testing.T) {
	const hooks = "attach: {bootstrap: ['b:9092'], hooks: {stop-broker: 'ssh x', start-broker: 'ssh y', kill-controller: k, start-controller: s}}\n"
	for _, c := range []struct{ text, says string }{
		{"targets: [attach]\n" + hooks + "workloads: [{kind: propagation}, {kind: controlled-shutdown}, {kind: controller-failover, how: kill}]\n", ""},
		{"targets: [attach]\nworkloads: [{kind: propagation}]\n", "attach.bootstrap: missing"},
		{"targets: [kraft]\n" + hooks + "workloads: [{kind: propagation}]\n", "attach is no target of this spec"},
		{"targets: [attach]\nattach: {bootstrap: [b]}\nworkloads: [{kind: propagation}]\n", `"b" is not HOST:PORT`},
		{"targets: [attach]\nattach: {bootstrap: ['b:kafka']}\nworkloads: [{kind: propagation}]\n", `"b:kafka" is not HOST:PORT`},
		{"targets: [attach]\nattach: {bootstrap: ['b:2181/kafka']}\nworkloads: [{kind: propagation}]\n", `"b:2181/kafka" is no address of a broker, but of a ZooKeeper with a chroot`},
		{"targets: [attach]\nattach: {bootstrap: ['b:1'], hooks: {kill-brokers: x}}\nworkloads: [{kind: propagation}]\n", `did you mean "kill-broker"?`},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: broker-failure, how: kill}]\n", "needs the hook kill-broker"},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: controller-failover, how: pause}]\n", "needs the hook pause-controller"},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: broker-failure, how: isolate}]\n", "does not touch the network"},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: rolling-restart}]\n", "more than topics of kbench's own"},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: mixed}]\n", "mixed with target attach"},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: propagation}]\nfaults: [{at: 1s, kind: restart, on: broker}, {at: 3s, for: 1s, kind: kill, on: controller}]\n", ""},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: propagation}]\nfaults: [{at: 1s, for: 1s, kind: kill, on: broker}]\n", "there is no hook kill-broker"},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: propagation}]\nfaults: [{at: 1s, for: 1s, kind: pause, on: controller}]\n", "there is no hook pause-controller"},
		{"targets: [attach]\n" + hooks + "workloads: [{kind: propagation}]\nfaults: [{at: 1s, for: 1s, kind: delay, on: broker, delay: 1ms}]\n", "touches no network"},
	} {
		s, err := Parse("t.yaml", []byte(c.text))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
			continue
		}
		if err != nil {
			continue
		}
		again, err := Parse("again.yaml", s.YAML())
		if err != nil || again.Hash() != s.Hash() {
			t.Errorf("the normal form is another spec: %v\n%s", err, s.YAML())
		}
		if err := validate(t, compileSchema(t), string(s.YAML())); err != nil {
			t.Error(err)
		}
	}
	if _, err := Attached(Override{Origin: "--bootstrap", Path: "attach.bootstrap", Value: "a:1,b:2", List: true}); err != nil {
		t.Error(err)
	}
}

package spec

import (
	"strings"
	"testing"

	"kbench/kafka"
)

// TestSecurity: which targets can be secured, how it is swept and varied, and
// that plaintext is what a spec means that says nothing.
func TestSecurity(t *testing.T) {
	const w = "workloads: [{kind: create-topics}]\n"
	for _, c := range []struct{ text, says string }{
		{"cluster: {security: tls}\n", ""},
		{"cluster: {security: sasl+tls}\n", ""},
		{"sweep: {security: [plaintext, tls, sasl, sasl+tls]}\n", ""},
		{"variants: [{name: tls, set: {security: tls}}]\n", ""},
		{"targets: [kraft, kafka-kraft]\nvariants: [{name: tls, set: {cluster.security: tls}}]\n", ""}, // not measured on the other
		{"targets: [kafka-zk]\ncluster: {security: plaintext}\n", ""},
		{"targets: [raft-push]\ncluster: {security: tls}\n", ""},
		{"targets: [kraft, raft-push]\ncluster: {security: sasl+tls}\n", "cluster.security: sasl+tls with target raft-push: its voters know each other by certificates and have no passwords; write `security: tls`"},
		{"cluster: {security: ssl}\n", `cluster.security: unknown value "ssl"`},
		{"targets: [kraft, kafka-kraft]\ncluster: {security: tls}\n", "cluster.security: tls with target kafka-kraft: kbench writes no stores of certificates"},
		{"targets: [kafka-zk@3.8.0]\nsweep: {security: [plaintext, sasl]}\n", "cluster.security: sasl with target kafka-zk@3.8.0: "},
		{"targets: [kraft, kafka-kraft]\nvariants: [{name: x, set: {security: tls, kraft.noop.interval: 0s}}]\n", "tls with target kafka-kraft: kbench writes no stores of certificates and no JAAS files for nodes of real Kafka in variant x"},
		{"targets: [attach]\nattach: {bootstrap: ['b:1']}\ncluster: {security: sasl}\n", "sasl with target attach: a cluster that is there is as secured as it is; leave security out, and say how clients connect by attach.commandConfig, or --command-config FILE"},
	} {
		s, err := Parse("t.yaml", []byte(c.text+w))
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
		if err := validate(t, compileSchema(t), c.text+w); err != nil {
			t.Error(err)
		}
	}
	silent, written := mustParse(t, w), mustParse(t, "cluster: {security: plaintext}\n"+w)
	if silent.Hash() != written.Hash() || silent.Base.Map()["cluster.security"] != "plaintext" {
		t.Errorf("nothing said: %s, plaintext: %s, setting %q", silent.Hash(), written.Hash(), silent.Base.Map()["cluster.security"])
	}
}

func TestSecurityOf(t *testing.T) {
	for _, p := range []kafka.SecurityProtocol{kafka.Plaintext, kafka.SSL, kafka.SASLPlaintext, kafka.SASLSSL} {
		if got := SecurityOf(p).Protocol(); got != p {
			t.Errorf("%s by way of a setting is %s", p, got)
		}
	}
}

// A cluster that is there may be secured as its clients' own file says.
func TestCommandConfig(t *testing.T) {
	const w = "targets: [attach]\nworkloads: [{kind: propagation}]\n"
	s := mustParse(t, w+"attach: {bootstrap: ['b:1'], commandConfig: client.properties}\n")
	again, err := Parse("again.yaml", s.YAML())
	if err != nil || again.Hash() != s.Hash() || again.Attach.CommandConfig != "client.properties" {
		t.Errorf("the normal form is another spec: %v\n%s", err, s.YAML())
	}
	if _, err := Parse("t.yaml", []byte(w+"attach: {bootstrap: ['b:1'], commandConfig: ''}\n")); err == nil || !strings.Contains(err.Error(), "attach.commandConfig: is empty") {
		t.Errorf("%v", err)
	}
}

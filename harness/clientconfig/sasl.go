package clientconfig

import (
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// The login modules that have a mechanism here.
const (
	scramModule = "ScramLoginModule"
	plainModule = "PlainLoginModule"
)

// moduleOf is the login module of each mechanism that kbench speaks.
var moduleOf = map[string]string{"SCRAM-SHA-256": scramModule, "SCRAM-SHA-512": scramModule, "PLAIN": plainModule}

// jaasCure shows a setting as it is written.
const jaasCure = `write sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="NAME" password="PASSWORD";`

// sasl is what sasl.* says; nil where a fault was found.
func (r *reader) sasl() sasl.Mechanism {
	const mechanism, config = "sasl.mechanism", "sasl.jaas.config"
	name, text := r.get(mechanism), r.get(config)
	module, known := moduleOf[name]
	switch {
	case name == "":
		r.fault(mechanism, "is missing, and Kafka's default is GSSAPI, which kbench does not speak; write SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN")
	case !known:
		r.fault(mechanism, "is %q, which kbench does not speak; write SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN", name)
	}
	if text == "" {
		r.fault(config, "is missing; %s", jaasCure)
		return nil
	}
	l, err := parseJAAS(text)
	if err != nil {
		r.fault(config, "%v; %s", err, jaasCure)
		return nil
	}
	user, password := l.options["username"], l.options["password"]
	switch {
	case known && l.module != module:
		r.fault(config, "names %s, and %s takes %s; make both agree", l.module, name, module)
	case user == "":
		r.fault(config, "has no username; %s", jaasCure)
	case password == "":
		r.fault(config, "has no password; %s", jaasCure)
	case name == "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	case name == "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password, IsToken: l.options["tokenauth"] == "true"}.AsSha256Mechanism()
	case known:
		return scram.Auth{User: user, Pass: password, IsToken: l.options["tokenauth"] == "true"}.AsSha512Mechanism()
	}
	return nil
}

package main

import (
	"fmt"
	"strings"

	"kbench/harness/attach"
	"kbench/harness/clientconfig"
	"kbench/harness/spec"
)

// commandConfigDoc is what the flag says, whoever has it.
const commandConfigDoc = "properties file that says how clients of --bootstrap connect, as Kafka's tools take it: security.protocol, sasl.mechanism, sasl.jaas.config, ssl.truststore.* as PEM"

// checkClient reads the file by which a cluster that is there is reached, so that
// a run does not fail on it after its folder was made. Its warning names the
// settings that kbench does not take.
func checkClient(s *spec.Spec) (warnings []string, err error) {
	if s.Attach == nil || s.Attach.CommandConfig == "" {
		return nil, nil
	}
	c, err := clientconfig.Load(s.Attach.CommandConfig)
	if err != nil {
		return nil, err
	}
	if len(c.Unused) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: kbench takes nothing of %s: its clients' settings are fixed (kbench list clients)", s.Attach.CommandConfig, strings.Join(c.Unused, ", ")))
	}
	return warnings, nil
}

// accessTo is how the brokers of flags are reached.
func accessTo(bootstrap, commandConfig string) (attach.Access, error) {
	a := attach.Access{Bootstrap: strings.Split(bootstrap, ",")}
	if commandConfig == "" {
		return a, nil
	}
	c, err := clientconfig.Load(commandConfig)
	if err != nil {
		return a, err
	}
	a.As, a.CommandConfig = &c.Identity, commandConfig
	return a, nil
}

package admin

import "slices"

// listBrokerConfigs are the configurations of a broker of Kafka 4.4 whose value is
// a list.
var listBrokerConfigs = []string{
	"advertised.listeners", "config.providers", "controller.listener.names", "controller.quorum.bootstrap.servers",
	"controller.quorum.voters", "cordoned.log.dirs", "early.start.listeners", "group.consumer.assignors",
	"group.coordinator.rebalance.protocols", "group.share.assignors", "group.streams.assignors",
	"group.streams.rack.aware.assignment.tags", "kafka.metrics.reporters", "listeners", "log.cleanup.policy", "log.dir",
	"log.dirs", "metric.reporters", "process.roles", "sasl.enabled.mechanisms", "sasl.kerberos.principal.to.local.rules",
	"sasl.oauthbearer.expected.audience", "ssl.cipher.suites", "ssl.enabled.protocols",
}

// IsListBrokerConfig reports whether items can be added to and taken from the value
// of a broker's configuration.
func IsListBrokerConfig(name string) bool { return slices.Contains(listBrokerConfigs, name) }

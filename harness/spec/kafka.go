package spec

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"kbench/harness/kafka"
)

// checkKafka judges what a cluster cannot be where real Kafka takes part.
func (d *decoder) checkKafka(c Config, bad func(what, cure string, paths ...string)) {
	if !d.measures(kafkaTargets) {
		return
	}
	real := c.Kafka.Brokers == BrokersReal
	if real && c.Cluster.BrokersPerNode > 1 {
		bad(fmt.Sprintf("%d brokers in a node with brokers of real Kafka, each of which is a process", c.Cluster.BrokersPerNode), "write brokersPerNode 1", "cluster.brokersPerNode", "kafka.brokers")
	}
	if real && c.Cluster.LogDirs > 1 {
		bad(fmt.Sprintf("%d log directories with brokers of real Kafka, which kbench gives one", c.Cluster.LogDirs), "write kafka.brokers: ours, or cluster.logDirs: 1", "cluster.logDirs", "kafka.brokers")
	}
	if c.Kafka.BrokerProperties != "" && !real {
		bad("are for brokers of real Kafka, and the brokers are kbench's", "write kafka.brokers: real too, or take them out", "kafka.brokerProperties", "kafka.brokers")
	}
	if c.Cluster.Controllers == Colocated && !real {
		bad("colocated with a target of real Kafka, whose controllers host no replicas of kbench's brokers", "write a number of controllers, or kafka.brokers: real", "cluster.controllers")
	}
	if d.measures([]Target{KafkaZK}) && c.Cluster.Store == StoreEmbedded {
		bad("embedded with target kafka-zk, which is measured on a real ZooKeeper", "write `store: zookeeper`", "cluster.store")
	}
}

// asRun is the configuration as the target has it. A real broker of ZooKeeper
// mode is always a candidate and cannot be told not to be: brokers and
// candidates are the same there, as ZooKeeper-era Kafka ran.
func (c Config) asRun(t Target) Config {
	if t.Kind() == KafkaZK && c.Kafka.Brokers == BrokersReal {
		c.Cluster.Controllers = Colocated
	}
	return c
}

// RealBrokers reports whether the brokers of the cell are those of Kafka.
func (c Cell) RealBrokers() bool {
	return c.Target.Kafka() != "" && c.Config.Kafka.Brokers == BrokersReal
}

func checkProperties(text string) error {
	if _, err := kafka.Parse(text); err != nil {
		return fmt.Errorf("%s; write key=value; key=value", strings.ReplaceAll(err.Error(), "\n", ", "))
	}
	return nil
}

var heapForm = regexp.MustCompile(`^[1-9][0-9]{0,5}[mg]$`)

func checkHeap(text string) error {
	if !heapForm.MatchString(text) {
		return fmt.Errorf("%q is no size of a heap; write it as 1g or 512m", text)
	}
	return nil
}

func checkFlags(text string) error {
	for _, flag := range strings.Fields(text) {
		if !strings.HasPrefix(flag, "-") || flag == "-jar" || flag == "-cp" || strings.HasPrefix(flag, "-Xmx") || strings.HasPrefix(flag, "-Xms") {
			return errors.New(flag + " is no flag that may be added; write flags such as -XX:+UseZGC, and the heap in kafka.heap")
		}
	}
	return nil
}

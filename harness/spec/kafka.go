package spec

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"kbench/harness/kafka"
)

// checkKafka judges what a cluster cannot be where its controllers are those of
// real Kafka.
func (d *decoder) checkKafka(c Config, bad func(what, cure string, paths ...string)) {
	if !d.measures(kafkaTargets) {
		return
	}
	if c.Kafka.Brokers == BrokersReal {
		bad("real: brokers of Kafka keep a directory and open files for each replica and are not measured yet", "write `ours`: kbench's brokers under Kafka's controllers", "kafka.brokers")
	}
	if c.Cluster.Controllers == Colocated {
		bad("colocated with a target of real Kafka, whose controllers host no replicas of kbench's brokers", "write a number of controllers", "cluster.controllers")
	}
	if d.measures([]Target{KafkaZK}) && c.Cluster.Store == StoreEmbedded {
		bad("embedded with target kafka-zk, which is measured on a real ZooKeeper", "write `store: zookeeper`", "cluster.store")
	}
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

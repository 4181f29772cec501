package spec

import (
	"fmt"
	"regexp"
	"strings"
)

// Target is what is measured, design section 3. A target of real Kafka may name
// the version after an @, kafka-kraft@4.1.0, and a build of it after a dash,
// kafka-kraft@4.1.0-mine, so that two builds of one version can be compared.
type Target string

// The targets that can be run.
const (
	ZK         Target = "zk"          // our ZooKeeper-style controller
	KRaft      Target = "kraft"       // our KRaft quorum
	RaftPush   Target = "raft-push"   // the same controllers over go.etcd.io/raft, whose leader pushes
	KafkaZK    Target = "kafka-zk"    // controllers of Apache Kafka in ZooKeeper mode
	KafkaKRaft Target = "kafka-kraft" // a KRaft quorum of Apache Kafka

	AttachTarget Target = "attach" // a cluster that kbench did not start
)

// The versions of Apache Kafka where a target names none.
const (
	KafkaZKVersion    = "3.9.2"
	KafkaKRaftVersion = "4.4.0"
)

// The groups of targets that settings act on.
var (
	zkTargets      = []Target{ZK, KafkaZK}
	kraftTargets   = []Target{KRaft, RaftPush, KafkaKRaft}
	pullTargets    = []Target{KRaft, KafkaKRaft} // whose voters fetch
	kafkaTargets   = []Target{KafkaZK, KafkaKRaft}
	startedTargets = []Target{ZK, KRaft, RaftPush, KafkaZK, KafkaKRaft} // whose nodes kbench starts
)

// TargetNames lists the targets that can be run.
func TargetNames() []string {
	return []string{string(ZK), string(KRaft), string(RaftPush), string(KafkaZK), string(KafkaKRaft), string(AttachTarget)}
}

// targetPattern is how a target is written.
const targetPattern = `^(zk|kraft|raft-push|attach|kafka-(zk|kraft)(@[0-9]+\.[0-9]+\.[0-9]+(-[A-Za-z0-9_.-]+)?)?)$`

var targetForm = regexp.MustCompile(targetPattern)

// Kind is the target without its version.
func (t Target) Kind() Target {
	kind, _, _ := strings.Cut(string(t), "@")
	return Target(kind)
}

// Kafka is the version of Apache Kafka whose controllers are measured, and ""
// where the controllers are kbench's.
func (t Target) Kafka() string {
	_, version, named := strings.Cut(string(t), "@")
	switch {
	case named:
		return version
	case t == KafkaZK:
		return KafkaZKVersion
	case t == KafkaKRaft:
		return KafkaKRaftVersion
	}
	return ""
}

// InZooKeeper reports whether the metadata is in ZooKeeper rather than in a log
// of its own.
func (t Target) InZooKeeper() bool { return t.Kind() == ZK || t.Kind() == KafkaZK }

// parseTarget judges a target as it is written. The error says what is wrong
// and how to mend it.
func parseTarget(text string) (Target, error) {
	t := Target(text)
	if !targetForm.MatchString(text) {
		if version := strings.TrimPrefix(text, string(t.Kind())); version != "" && (t.Kind() == KafkaZK || t.Kind() == KafkaKRaft) {
			return "", fmt.Errorf("%q is no version of Apache Kafka; write %s@%s", version, t.Kind(), t.Kind().Kafka())
		}
		return "", fmt.Errorf("unknown target %q; %s", text, didYouMean(text, TargetNames()))
	}
	var major, minor int
	if v := t.Kafka(); v != "" {
		_, _ = fmt.Sscanf(v, "%d.%d", &major, &minor)
	}
	switch old := major*100 + minor; {
	case t.Kind() == KafkaZK && (old < 208 || old > 309):
		return "", fmt.Errorf("version %s of Apache Kafka has no ZooKeeper mode that kbench speaks; write a version from 2.8 to 3.9, such as %s@%s", t.Kafka(), KafkaZK, KafkaZKVersion)
	case t.Kind() == KafkaKRaft && old < 309:
		return "", fmt.Errorf("version %s of Apache Kafka has no KRaft quorum that kbench speaks; write 3.9 or later, such as %s@%s", t.Kafka(), KafkaKRaft, KafkaKRaftVersion)
	}
	return t, nil
}

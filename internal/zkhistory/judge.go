package zkhistory

import (
	"fmt"
	"strings"

	"kbench/internal/checker"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// ResultName is that of the verdict among a run's checks.
const ResultName = "znodes"

// uncleanConfig lets a topic have an unclean leader.
const uncleanConfig = "unclean.leader.election.enable"

// judge hands changes to checker.Znodes.
type judge struct {
	z          *checker.Znodes
	unclean    map[string]bool // by topic
	anyUnclean bool            // by the brokers' default
	last       int64           // end of the newest block of producer ids
}

func newJudge(rules Rules) *judge {
	j := &judge{z: checker.NewZnodes(), unclean: map[string]bool{}, last: -1}
	j.z.NoRecovery = rules.NoRecovery
	j.z.Unclean = func(topic string) bool { return j.anyUnclean || j.unclean[topic] }
	return j
}

// result is the verdict of all that was seen. Every cluster writes znodes from its
// first election on, so that a history without a write is one that was lost.
func (j *judge) result() checker.Result {
	r := checker.Result{Name: ResultName, Looked: j.z.Looked}
	for _, b := range j.z.Broken {
		r.Faults = append(r.Faults, b.Invariant+": "+b.Detail)
	}
	if r.Looked == 0 {
		r.Faults = append(r.Faults, "it looked at nothing: every cluster writes znodes, and the history holds no write")
	}
	return r
}

// hear takes an acknowledged ISR. Without topic ids a topic is not told from one
// of the same name that was there before, and nothing is judged.
func (j *judge) hear(e trace.Event) error {
	a, err := checker.AckedISRFromTrace(e)
	if err == nil && !a.TopicID.IsZero() {
		j.z.AckedISR(a)
	}
	return err
}

func (j *judge) see(c Change) error {
	if err := j.take(c); err != nil {
		return fmt.Errorf("zxid 0x%x, %s: %w", c.Zxid, c.Path, err)
	}
	return nil
}

func (j *judge) take(c Change) error {
	if tp, ok := zk.PartitionOfPath(c.Path); ok {
		return j.state(tp, c)
	}
	if topic, ok := zk.TopicOfPath(c.Path); ok {
		return j.topic(topic, c)
	}
	if id, ok := zk.BrokerOfPath(c.Path); ok {
		switch {
		case c.Gone:
			j.z.BrokerGone(id)
		case c.New:
			j.z.Broker(id, kafka.BrokerEpoch(c.Zxid))
		}
		return nil
	}
	switch c.Path {
	case zk.ControllerEpochPath:
		if c.Gone {
			return nil
		}
		epoch, err := zk.DecodeControllerEpoch([]byte(c.Data))
		if err == nil {
			j.z.ControllerEpoch(epoch)
		}
		return err
	case zk.ProducerIDBlockPath:
		return j.producerIDs(c)
	}
	return j.config(c)
}

func (j *judge) state(tp kafka.TopicPartition, c Change) error {
	if c.Gone {
		j.z.StateGone(tp)
		return nil
	}
	s, err := zk.DecodeState([]byte(c.Data))
	if err != nil {
		return err
	}
	j.z.State(tp, checker.ZnodeState{
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, ControllerEpoch: s.ControllerEpoch,
		PartitionEpoch: kafka.PartitionEpoch(c.Version), Recovery: s.Recovery, ISR: s.ISR,
	})
	return nil
}

func (j *judge) topic(name string, c Change) error {
	if c.Gone {
		j.z.TopicGone(name)
		return nil
	}
	t, err := zk.DecodeTopic([]byte(c.Data))
	if err != nil {
		return err
	}
	parts := make(map[int32]checker.ZnodeAssignment, len(t.Partitions))
	for p, a := range t.Partitions {
		parts[p] = checker.ZnodeAssignment(a)
	}
	j.z.Topic(name, t.ID, parts)
	return nil
}

func (j *judge) producerIDs(c Change) error {
	if c.Gone || c.Data == "" { // created empty at the first broker's start
		return nil
	}
	b, err := zk.DecodeProducerIDBlock([]byte(c.Data))
	if err == nil {
		j.z.ProducerIDs(b.First, b.End)
	}
	return err
}

func (j *judge) config(c Change) error {
	allowed := false
	if !c.Gone {
		m, err := zk.DecodeConfig([]byte(c.Data))
		if err != nil {
			return err
		}
		allowed = m[uncleanConfig] == "true"
	}
	if c.Path == defaultBrokerConfig {
		j.anyUnclean = allowed
		return nil
	}
	j.unclean[strings.TrimPrefix(c.Path, zk.EntityConfigPath(zk.TopicConfigs, ""))] = allowed
	return nil
}

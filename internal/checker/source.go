package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
)

// FromMetadata is a broker's answer to Metadata as a View. Topics and
// partitions with an error other than a missing leader are left out: they are
// not served.
func FromMetadata(broker kafka.BrokerID, m *kmsg.MetadataResponse) View {
	v := View{Broker: broker}
	for i := range m.Topics {
		t := &m.Topics[i]
		if t.Topic == nil || t.ErrorCode != 0 {
			continue
		}
		out := Topic{Name: *t.Topic, ID: t.TopicID}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if e := kafka.ErrorCode(p.ErrorCode); e != kafka.None && e != kafka.LeaderNotAvailable {
				continue
			}
			out.Partitions = append(out.Partitions, Partition{
				Index: p.Partition, Leader: kafka.BrokerID(p.Leader), LeaderEpoch: kafka.LeaderEpoch(p.LeaderEpoch),
				Replicas: brokerIDs(p.Replicas), ISR: brokerIDs(p.ISR),
			})
		}
		v.Topics = append(v.Topics, out)
	}
	return v
}

func brokerIDs(ids []int32) []kafka.BrokerID {
	out := make([]kafka.BrokerID, len(ids))
	for i, id := range ids {
		out[i] = kafka.BrokerID(id)
	}
	return out
}

// FromImage is an image as a View; its slices are shared with the image.
func FromImage(broker kafka.BrokerID, i *metadata.Image) View {
	v := View{Broker: broker}
	for t := range i.Topics() {
		out := Topic{Name: t.Name(), ID: t.ID(), Partitions: make([]Partition, 0, t.Len())}
		for index, p := range t.All() {
			out.Partitions = append(out.Partitions, Partition{
				Index: index, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR,
			})
		}
		v.Topics = append(v.Topics, out)
	}
	return v
}

// FencesFromTraces pairs what brokers heard of their fences with what the
// controllers traced of them. A controller is held to its own word alone: another
// one may have heard less.
func FencesFromTraces(events []trace.Event) (fences []Fence) {
	type view struct {
		broker int32
		epoch  int64
	}
	told := map[view][]trace.Event{}
	for _, e := range events {
		if e.Kind == trace.BrokerFenced {
			told[view{e.Broker, e.Epoch}] = append(told[view{e.Broker, e.Epoch}], e)
		}
	}
	for _, heard := range events {
		if heard.Kind != trace.BrokerHeardFenced {
			continue
		}
		sent := heard.T - heard.N
		for _, e := range told[view{heard.Broker, heard.Epoch}] {
			if e.T > sent && e.T <= heard.T {
				fences = append(fences, Fence{AtNs: e.T, Broker: kafka.BrokerID(e.Broker), Epoch: e.Epoch, SilentNs: e.T - sent, SessionNs: e.N})
			}
		}
	}
	return fences
}

// LedAloneFromTraces takes out of the traces of a quorum how its leaderships ended.
func LedAloneFromTraces(events []trace.Event) (led []LedAlone) {
	for _, e := range events {
		if e.Kind == trace.QuorumLedAlone {
			led = append(led, LedAlone{AtNs: e.T, Node: e.Node, Epoch: e.Epoch, AloneNs: e.N, LimitNs: e.Limit})
		}
	}
	return led
}

// FromTraces takes elections and controller epochs out of the traces of all
// nodes, in order of time.
func FromTraces(events []trace.Event) (elections []Election, epochs []EpochSeen) {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b trace.Event) int { return cmp.Compare(a.T, b.T) })
	for _, e := range sorted {
		switch e.Kind {
		case trace.ControllerElected:
			elections = append(elections, Election{AtNs: e.T, Node: e.Node, Epoch: e.Epoch})
		case trace.BrokerControllerEpoch:
			// Brokers of one process learn one after the other.
			epochs = append(epochs, EpochSeen{AtNs: e.T, Node: fmt.Sprintf("%s broker %d", e.Node, e.Broker), Epoch: e.Epoch})
		}
	}
	return elections, epochs
}

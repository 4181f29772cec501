package zkcontroller

import (
	"encoding/binary"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// The versions that are laid out by hand: those of inter-broker protocols from
// 3.4 on.
const (
	leaderAndISRVersion   = 7
	updateMetadataVersion = 8
)

// encoded is a request whose body was laid out beforehand: a list of parts, so
// that those which several brokers get are shared. kmsg's own structs would
// cost several allocations a partition. Everything else is the embedded
// request's.
type encoded struct {
	kmsg.Request
	parts [][]byte
}

// AppendTo appends the body.
func (e *encoded) AppendTo(dst []byte) []byte {
	for _, p := range e.parts {
		dst = append(dst, p...)
	}
	return dst
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

func appendLen(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)+1) }

func appendText(b []byte, s string) []byte { return append(appendLen(b, len(s)), s...) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendIDs(b []byte, ids []kafka.BrokerID) []byte {
	b = appendLen(b, len(ids))
	for _, id := range ids {
		b = appendInt32(b, int32(id))
	}
	return b
}

// header begins a controller request: id, isKRaft, controller epoch, broker epoch.
func (c *Controller) header(brokerEpoch kafka.BrokerEpoch) []byte {
	b := make([]byte, 0, 32)
	b = appendInt32(b, int32(c.cfg.ID))
	b = append(b, 0)
	b = appendInt32(b, int32(c.epoch))
	return binary.BigEndian.AppendUint64(b, uint64(c.epochFor(brokerEpoch)))
}

func appendState(b []byte, partition int32, s *machine.LeaderISR) []byte {
	b = appendInt32(b, partition)
	b = appendInt32(b, int32(s.ControllerEpoch))
	b = appendInt32(b, int32(s.Leader))
	b = appendInt32(b, int32(s.LeaderEpoch))
	b = appendIDs(b, s.ISR)
	return appendInt32(b, int32(s.Version))
}

// byTopic walks over n partitions that are ordered by topic and calls begin
// for each topic with its range.
func byTopic(n int, topic func(i int) string, begin func(from, to int)) {
	for from := 0; from < n; {
		to := from + 1
		for to < n && topic(to) == topic(from) {
			to++
		}
		begin(from, to)
		from = to
	}
}

func countTopics(n int, topic func(i int) string) int {
	count := 0
	byTopic(n, topic, func(int, int) { count++ })
	return count
}

// encodeLeaderAndISR lays out version 7.
func encodeLeaderAndISR(head []byte, e *machine.LeaderAndISR, listener string) kmsg.Request {
	ps := e.Partitions
	topic := func(i int) string { return ps[i].Topic }
	b := make([]byte, 0, 64+len(ps)*72)
	b = append(b, 0) // Type: unknown, as the ZooKeeper controller sends it
	b = appendLen(b, countTopics(len(ps), topic))
	byTopic(len(ps), topic, func(from, to int) {
		b = appendText(b, ps[from].Topic)
		b = append(b, ps[from].TopicID[:]...)
		b = appendLen(b, to-from)
		for i := from; i < to; i++ {
			p := &ps[i]
			b = appendState(b, p.Partition, &p.State)
			b = appendIDs(b, p.Assignment.Replicas)
			b = appendIDs(b, p.Assignment.Adding)
			b = appendIDs(b, p.Assignment.Removing)
			b = appendBool(b, p.IsNew)
			b = append(b, byte(p.State.Recovery), 0)
		}
		b = append(b, 0)
	})
	b = appendLen(b, len(e.Leaders))
	for _, l := range e.Leaders {
		ep := endpoint(l, listener)
		b = appendInt32(b, int32(l.ID))
		b = appendText(b, ep.Host)
		b = appendInt32(b, int32(ep.Port))
		b = append(b, 0)
	}
	b = append(b, 0)
	return &encoded{&kmsg.LeaderAndISRRequest{Version: leaderAndISRVersion}, [][]byte{head, b}}
}

// endpoint gives a broker's endpoint for the listener, else its first.
func endpoint(b *machine.Broker, listener string) kafka.Endpoint {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e
		}
	}
	if len(b.Endpoints) > 0 {
		return b.Endpoints[0]
	}
	return kafka.Endpoint{}
}

// metadataBody is the part of an UpdateMetadata that all brokers of a batch
// get, laid out once, by the first sender that needs it.
type metadataBody struct {
	of    *machine.UpdateMetadata
	once  sync.Once
	bytes []byte
}

// same reports whether e has the same partitions and brokers as the body.
func (m *metadataBody) same(e *machine.UpdateMetadata) bool {
	return m != nil && len(m.of.Partitions) == len(e.Partitions) && len(m.of.Live) == len(e.Live) &&
		(len(e.Partitions) == 0 || &m.of.Partitions[0] == &e.Partitions[0]) &&
		(len(e.Live) == 0 || &m.of.Live[0] == &e.Live[0])
}

var securityProtocols = map[string]int16{"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

func (m *metadataBody) encode() []byte {
	m.once.Do(func() { m.bytes = encodeMetadata(m.of) })
	return m.bytes
}

// encodeMetadata lays out what follows the header in version 8.
func encodeMetadata(e *machine.UpdateMetadata) []byte {
	ps := e.Partitions
	topic := func(i int) string { return ps[i].Topic }
	b := make([]byte, 0, 256+len(ps)*64)
	b = appendLen(b, countTopics(len(ps), topic))
	byTopic(len(ps), topic, func(from, to int) {
		b = appendText(b, ps[from].Topic)
		b = append(b, ps[from].TopicID[:]...)
		b = appendLen(b, to-from)
		for i := from; i < to; i++ {
			p := &ps[i]
			b = appendState(b, p.Partition, &p.State)
			b = appendIDs(b, p.Replicas)
			b = appendIDs(b, p.Offline)
			b = append(b, 0)
		}
		b = append(b, 0)
	})
	b = appendLen(b, len(e.Live))
	for _, l := range e.Live {
		b = appendInt32(b, int32(l.ID))
		b = appendLen(b, len(l.Endpoints))
		for _, ep := range l.Endpoints {
			b = appendInt32(b, int32(ep.Port))
			b = appendText(b, ep.Host)
			b = appendText(b, ep.Listener)
			b = binary.BigEndian.AppendUint16(b, uint16(securityProtocols[l.Protocols[ep.Listener]]))
			b = append(b, 0)
		}
		if l.Rack == "" {
			b = append(b, 0)
		} else {
			b = appendText(b, l.Rack)
		}
		b = append(b, 0)
	}
	return append(b, 0)
}

package machine

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/refusal"
)

// registerBroker decides BrokerRegistration (62). A new incarnation gets the
// offset of its record as its epoch, is fenced, and loses the places in ISRs
// that the last one left behind; the same incarnation keeps its epoch and
// state (KAFKA-16757).
func (m *Machine) registerBroker(r Request, req *kmsg.BrokerRegistrationRequest) error {
	resp := req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	id := kafka.BrokerID(req.BrokerID)
	old, known := m.image().Broker(id)
	again := known && old.Incarnation == req.IncarnationID
	if code := m.judgeRegistration(req, old, again); code != kafka.None {
		resp.ErrorCode, resp.BrokerEpoch = int16(code), int64(kafka.NoBrokerEpoch)
		_, err := m.carryOut(r, refuse(resp))
		return err
	}
	record := &metadata.RegisterBrokerRecord{
		BrokerID: id, IncarnationID: req.IncarnationID, Rack: req.Rack, Fenced: true,
	}
	for _, l := range req.Listeners {
		e := kafka.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port}
		record.EndPoints = append(record.EndPoints, metadata.RecordEndpoint{Endpoint: e, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		record.Features = append(record.Features, metadata.RecordFeature{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	if m.version().HasDirectories() {
		for _, d := range req.LogDirs {
			record.LogDirs = append(record.LogDirs, d)
		}
	}
	records := m.leftBehind(req, old, again)
	record.BrokerEpoch = kafka.BrokerEpoch(m.log.head().last + 1 + kafka.Offset(len(records)))
	if again {
		record.BrokerEpoch, record.Fenced, record.InControlledShutdown = old.Epoch, old.Fenced, old.InControlledShutdown
	}
	resp.BrokerEpoch = int64(record.BrokerEpoch)
	if !again {
		m.sessions.register(id, m.now)
		m.event(BrokerRegistered, id)
	}
	_, err := m.carryOut(r, decision{records: slices.Values(append(records, record)), response: resp})
	return err
}

// leftBehind takes from a new incarnation what the one before left behind. That
// comes before the registration, so that after a controller that fails between two
// batches the broker registers anew, which brings the rest. Where eligible leader replicas are kept, a broker that cannot name
// its last epoch was shut down uncleanly and may have lost what it had not
// flushed (KIP-966).
func (m *Machine) leftBehind(req *kmsg.BrokerRegistrationRequest, old *metadata.Broker, again bool) []metadata.Record {
	id := kafka.BrokerID(req.BrokerID)
	switch {
	case again:
		return nil
	case m.elrEnabled() && req.Version >= 3 && (old == nil || int64(old.Epoch) != req.PreviousBrokerEpoch):
		return slices.Collect(m.walk(lost(id)))
	case old == nil:
		return nil
	}
	return slices.Collect(m.walk(gone(id)))
}

// judgeRegistration checks in Kafka's order.
func (m *Machine) judgeRegistration(req *kmsg.BrokerRegistrationRequest, old *metadata.Broker, again bool) kafka.ErrorCode {
	switch {
	case req.ClusterID != m.cfg.ClusterID:
		return kafka.InconsistentClusterID
	case old != nil && !again && m.sessions.valid(old, m.now):
		return kafka.DuplicateBrokerRegistration
	case req.BrokerID < 0 || req.IsMigratingZkBroker:
		return kafka.InvalidRegistration
	}
	if m.version().HasDirectories() {
		seen := map[kafka.UUID]bool{}
		for _, d := range req.LogDirs {
			if seen[d] || metadata.IsReservedDirectory(d) {
				return kafka.InvalidRegistration
			}
			seen[d] = true
		}
		if len(seen) == 0 {
			return kafka.InvalidRegistration
		}
	}
	supported := map[string]metadata.VersionRange{}
	for _, f := range req.Features {
		supported[f.Name] = metadata.VersionRange{Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion}
	}
	if _, ok := supported[metadata.MetadataVersionFeature]; !ok {
		return kafka.InvalidRegistration
	}
	for name, level := range m.image().Features() {
		// A feature that is not named is supported at level 0 alone.
		if r := supported[name]; level < r.Min || level > r.Max {
			return kafka.UnsupportedVersion
		}
	}
	return kafka.None
}

// unregisterBroker decides UnregisterBroker (64): the broker leaves all ISRs,
// then it is forgotten. Its replicas stay assigned.
func (m *Machine) unregisterBroker(r Request, req *kmsg.UnregisterBrokerRequest) error {
	resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
	b, ok := m.image().Broker(kafka.BrokerID(req.BrokerID))
	if !ok {
		_, err := m.carryOut(r, refuse(refusal.Of(req, kafka.BrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", req.BrokerID))))
		return err
	}
	changes := m.walk(gone(b.ID))
	records := func(yield func(metadata.Record) bool) {
		for c := range changes {
			if !yield(c) {
				return
			}
		}
		yield(&metadata.UnregisterBrokerRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch})
	}
	_, err := m.carryOut(r, decision{records: records, response: resp})
	m.sessions.forget(b.ID)
	return err
}

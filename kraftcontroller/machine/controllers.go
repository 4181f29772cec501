package machine

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/refusal"
)

// registerController decides ControllerRegistration (70).
func (m *Machine) registerController(r Request, req *kmsg.ControllerRegistrationRequest) error {
	if m.version() < metadata.V3_7_IV0 {
		msg := fmt.Sprintf("The current metadata.version is too old to support controller registrations: %s", m.version())
		_, err := m.carryOut(r, refuse(refusal.Of(req, kafka.UnsupportedVersion, msg)))
		return err
	}
	record := &metadata.RegisterControllerRecord{
		ControllerID: kafka.BrokerID(req.ControllerID), IncarnationID: req.IncarnationID, ZkMigrationReady: req.ZkMigrationReady,
	}
	for _, l := range req.Listeners {
		e := kafka.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port}
		record.EndPoints = append(record.EndPoints, metadata.RecordEndpoint{Endpoint: e, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		record.Features = append(record.Features, metadata.RecordFeature{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	_, err := m.carryOut(r, atomicOf([]metadata.Record{record}, req.ResponseKind()))
	return err
}

// unregisterController decides UnregisterController (94): the controller's
// registration is forgotten. It is not taken out of the quorum.
func (m *Machine) unregisterController(r Request, req *kmsg.UnregisterControllerRequest) error {
	if m.version() < metadata.V4_4_IV2 {
		msg := "The current MetadataVersion is too old to support controller unregistration."
		_, err := m.carryOut(r, refuse(refusal.Of(req, kafka.UnsupportedVersion, msg)))
		return err
	}
	id := kafka.BrokerID(req.ControllerID)
	if _, ok := m.image().Controller(id); !ok {
		msg := fmt.Sprintf("Controller ID %d is not currently registered.", id)
		_, err := m.carryOut(r, refuse(refusal.Of(req, kafka.ControllerIDNotRegistered, msg)))
		return err
	}
	record := &metadata.UnregisterControllerRecord{ControllerID: id}
	_, err := m.carryOut(r, atomicOf([]metadata.Record{record}, req.ResponseKind()))
	return err
}

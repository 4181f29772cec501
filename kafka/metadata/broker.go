package metadata

import (
	"maps"
	"slices"

	"kbench/kafka"
)

// VersionRange is what a node supports of a feature, both ends inclusive.
type VersionRange struct{ Min, Max int16 }

// Broker is one registration. It is immutable once it is in an Image.
type Broker struct {
	ID          kafka.BrokerID
	Epoch       kafka.BrokerEpoch
	Incarnation kafka.UUID // zero in ZooKeeper mode
	Endpoints   []kafka.Endpoint
	// SecurityProtocols are Kafka's numbers for Endpoints, one each; nil
	// means that all are PLAINTEXT (0).
	SecurityProtocols []int16
	Rack              string // "" for none
	// Fenced brokers lead nothing and are in no ISR.
	Fenced               bool
	InControlledShutdown bool
	LogDirs              []kafka.UUID // sorted
	// CordonedLogDirs get no new replicas (KIP-1066); sorted, nil until the
	// broker has told.
	CordonedLogDirs []kafka.UUID
	Features        map[string]VersionRange
}

// Active reports whether the broker may lead and be in an ISR.
func (b *Broker) Active() bool { return !b.Fenced && !b.InControlledShutdown }

// HasOnlineDirectory reports whether a replica in directory d can be served. A
// directory that is not known yet counts as online, and so does every one of a
// broker that does not tell its directories (KIP-858).
func (b *Broker) HasOnlineDirectory(d kafka.UUID) bool {
	switch d {
	case UnassignedDirectory, MigratingDirectory:
		return true
	case LostDirectory:
		return false
	}
	return len(b.LogDirs) == 0 || slices.Contains(b.LogDirs, d)
}

// Cordoned reports whether the broker gets no new replicas, since none of its
// directories does (KIP-1066).
func (b *Broker) Cordoned() bool {
	if len(b.LogDirs) == 0 {
		return false
	}
	for _, d := range b.LogDirs {
		if !slices.Contains(b.CordonedLogDirs, d) {
			return false
		}
	}
	return true
}

// Endpoint gives the address of a listener.
func (b *Broker) Endpoint(listener string) (kafka.Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return kafka.Endpoint{}, false
}

// Equal reports whether both are the same registration in the same state.
func (b *Broker) Equal(o *Broker) bool {
	return b.ID == o.ID && b.Epoch == o.Epoch && b.Incarnation == o.Incarnation &&
		b.Rack == o.Rack && b.Fenced == o.Fenced && b.InControlledShutdown == o.InControlledShutdown &&
		slices.Equal(b.Endpoints, o.Endpoints) && slices.Equal(b.SecurityProtocols, o.SecurityProtocols) &&
		slices.Equal(b.LogDirs, o.LogDirs) && slices.Equal(b.CordonedLogDirs, o.CordonedLogDirs) &&
		(b.CordonedLogDirs == nil) == (o.CordonedLogDirs == nil) && maps.Equal(b.Features, o.Features)
}

// Controller is one registered controller of a KRaft quorum (KIP-919).
type Controller struct {
	ID                kafka.BrokerID
	Incarnation       kafka.UUID
	Endpoints         []kafka.Endpoint
	SecurityProtocols []int16 // as in Broker
	Features          map[string]VersionRange
}

// ConfigType is Kafka's number for the kind of a ConfigResource.
type ConfigType int8

// The kinds of resources that have configuration.
const (
	TopicConfig         ConfigType = 2
	BrokerConfig        ConfigType = 4
	BrokerLoggerConfig  ConfigType = 8
	ClientMetricsConfig ConfigType = 16
	GroupConfig         ConfigType = 32
)

// ConfigResource names what a configuration belongs to. The name of a
// BrokerConfig is the broker's id in decimal, or "" for the cluster's default.
type ConfigResource struct {
	Type ConfigType
	Name string
}

func compareConfigResource(a, b ConfigResource) int {
	switch {
	case a.Type != b.Type:
		return int(a.Type) - int(b.Type)
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

package workloads

import (
	"fmt"
	"strings"
)

// ClientSetting is one setting of the clients that measure. They are fixed, since
// they dominate what clients see of a fault: a client that believes its metadata
// for five minutes shows an outage of five minutes.
type ClientSetting struct{ Name, Value string }

// ClientSettings lists them in the order of documents. Every run keeps them in
// its event log.
func ClientSettings() []ClientSetting {
	return []ClientSetting{
		{"probe metadata", "none is kept: each probe asks its broker anew"},
		{"probe time-out", fmt.Sprintf("%v, no further try; at most %d of a broker wait", probeTimeout, probeWindow)},
		{"produce", fmt.Sprintf("acks=1, time-out %v, no further try; leaders as the newest answer to any probe names them", produceTimeout)},
		{"admin requests", fmt.Sprintf("time-out %v, %d tries 100ms to 2s apart", createTimeout, adminAttempts)},
		{"admin stream", fmt.Sprintf("time-out %v, no further try; at most %d wait", adminTimeout, maxAdminInFlight)},
		{"seeking clients", fmt.Sprintf("request.timeout.ms %v, retry.backoff.ms %v, delivery.timeout.ms %v", seekRequestTimeout, seekBackoff, seekDeliveryTimeout)},
		{"franz-go", Params{Producer: producerFranz}.clientSettings()},
		{"generators", fmt.Sprintf("an operation that starts more than %v late is late; more than 2, and more than 2 in 100, make a trial invalid", maxSlip)},
	}
}

func clientsLine() string {
	var parts []string
	for _, s := range ClientSettings() {
		parts = append(parts, s.Name+": "+s.Value)
	}
	return "clients: " + strings.Join(parts, "; ")
}

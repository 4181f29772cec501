package machine

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/refusal"
)

const (
	notController = "The active controller appears to be another node."
	excessive     = "Unable to perform excessively large batch operation."
)

// deciders has how each request is decided, by API key.
var deciders = map[int16]func(*Machine, Request) error{
	19: decider((*Machine).createTopics),
	20: decider((*Machine).deleteTopics),
	30: decider((*Machine).createACLs),
	31: decider((*Machine).deleteACLs),
	33: decider((*Machine).replaceConfigs),
	37: decider((*Machine).createPartitions),
	38: decider((*Machine).createToken),
	39: decider((*Machine).renewToken),
	40: decider((*Machine).expireToken),
	43: decider((*Machine).electLeaders),
	44: decider((*Machine).alterConfigs),
	45: decider((*Machine).alterReassignments),
	46: decider((*Machine).listReassignments),
	49: decider((*Machine).alterQuotas),
	51: decider((*Machine).alterScram),
	56: decider((*Machine).alterPartition),
	57: decider((*Machine).updateFeatures),
	62: decider((*Machine).registerBroker),
	63: decider((*Machine).heartbeat),
	64: decider((*Machine).unregisterBroker),
	67: decider((*Machine).allocateProducerIDs),
	70: decider((*Machine).registerController),
	73: decider((*Machine).assignReplicas),
	94: decider((*Machine).unregisterController),
}

// decider gives a decision of one type of request as one of any.
func decider[R kmsg.Request](decide func(*Machine, Request, R) error) func(*Machine, Request) error {
	return func(m *Machine, r Request) error { return decide(m, r, r.Body.(R)) }
}

// Serves reports whether the machine decides requests of an API key.
func Serves(key int16) bool { return deciders[key] != nil }

// request decides one request, or refuses it on a standby.
func (m *Machine) request(r Request) error {
	if r.Body == nil {
		return fmt.Errorf("machine: request %d has no body", r.ID)
	}
	if !m.active {
		m.respond(r.ID, refusal.Of(r.Body, kafka.NotController, notController))
		return nil
	}
	decide := deciders[r.Body.Key()]
	if decide == nil {
		m.respond(r.ID, refusal.Of(r.Body, kafka.UnsupportedVersion, "The controller does not serve this request."))
		return nil
	}
	return decide(m, r)
}

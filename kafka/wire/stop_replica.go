package wire

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const keyStopReplica = 5

// kmsg lays out version 4 of StopReplica with the controller epoch before the
// flag isKRaftController, where Kafka has it after. Both follow the controller's
// id, and five bytes hold both.
const (
	stopReplicaAt  = 4
	stopReplicaEnd = 9
)

func swapsStopReplica(key, version int16) bool { return key == keyStopReplica && version == 4 }

// stopReplicaIn gives a body of Kafka's layout in kmsg's. b is not changed.
func stopReplicaIn(b []byte) ([]byte, error) {
	if len(b) < stopReplicaEnd {
		return nil, fmt.Errorf("body of %d bytes does not decode", len(b))
	}
	b = slices.Clone(b)
	kraft := b[stopReplicaAt]
	copy(b[stopReplicaAt:], b[stopReplicaAt+1:stopReplicaEnd])
	b[stopReplicaEnd-1] = kraft
	return b, nil
}

// stopReplicaOut puts a body that kmsg wrote into Kafka's layout, in place.
func stopReplicaOut(b []byte) {
	kraft := b[stopReplicaEnd-1]
	copy(b[stopReplicaAt+1:stopReplicaEnd], bytes.Clone(b[stopReplicaAt:stopReplicaEnd-1]))
	b[stopReplicaAt] = kraft
}

// appendBody appends the body of req as Kafka reads it.
func appendBody(dst []byte, req kmsg.Request) []byte {
	start := len(dst)
	dst = req.AppendTo(dst)
	if _, own := req.(*kmsg.StopReplicaRequest); own && swapsStopReplica(req.Key(), req.GetVersion()) {
		stopReplicaOut(dst[start:])
	}
	return dst
}

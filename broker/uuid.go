package broker

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// randomUUID makes an id that is not one of the reserved ones.
func randomUUID() kafka.UUID {
	var u kafka.UUID
	for metadata.IsReservedDirectory(u) {
		_, _ = rand.Read(u[:]) // never fails: it ends the process instead
	}
	return u
}

// directoryID is the id of the one log directory of a broker that names none. It
// must survive restarts, or the controller takes the broker's replicas for lost;
// a broker that keeps nothing makes it from what does not change.
func directoryID(clusterID string, id kafka.BrokerID) kafka.UUID {
	sum := sha256.Sum256(fmt.Appendf(nil, "kbench log directory of broker %d in cluster %s", id, clusterID))
	return kafka.UUID(sum[:16])
}

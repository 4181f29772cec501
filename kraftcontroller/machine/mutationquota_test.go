package machine

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestIdleBucketsGo: what is kept of clients that a quota counts is bounded by
// those who asked in the last burst.
func TestIdleBucketsGo(t *testing.T) {
	w := newWorld(Config{NoOpInterval: -1})
	w.up(t, 1)
	set := kmsg.NewPtrAlterClientQuotasRequest()
	set.Entries = []kmsg.AlterClientQuotasRequestEntry{{
		Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "client-id"}},
		Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: mutationRate, Value: 1}},
	}}
	w.request(set)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.Version = 6
	for i := range maxIdleBuckets {
		w.clientID = fmt.Sprint("client-", i)
		w.request(remove)
	}
	if n := len(w.m.buckets); n != maxIdleBuckets {
		t.Fatalf("%d buckets of %d clients", n, maxIdleBuckets)
	}
	w.now += mutationBurst + 1
	w.clientID = "another"
	w.request(remove)
	if n := len(w.m.buckets); n != 1 {
		t.Errorf("%d buckets when all but one have been idle", n)
	}
}

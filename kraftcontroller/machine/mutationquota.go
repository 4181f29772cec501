package machine

import (
	"math"
	"time"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

const (
	// mutationRate is the client quota on the partitions that are created and
	// deleted in a second (KIP-599).
	mutationRate = "controller_mutation_rate"
	// mutationBurst is how many seconds' worth of it one who was idle may use at
	// once: Kafka's controller.quota.window.num of 11 times its
	// controller.quota.window.size.seconds of 1.
	mutationBurst = 11 * time.Second
	// maxIdleBuckets bounds the buckets that are kept of clients who used none of
	// theirs for a burst: a full bucket is as good as none.
	maxIdleBuckets = 1000

	throttled = "The throttling quota has been exceeded."
)

// The versions from which on a request above the quota is refused; an older
// client is served, and told to wait.
const (
	strictCreateTopics     = 6
	strictDeleteTopics     = 5
	strictCreatePartitions = 3
)

// tokenBucket holds what a client may still change. It is below zero after a
// request that needed more than there was: that one is served, the next is not.
type tokenBucket struct {
	tokens float64
	at     time.Duration // of the last refill
}

// refill adds what rate, in tokens a second, gives until now.
func (b *tokenBucket) refill(rate float64, now time.Duration) {
	b.tokens = min(rate*mutationBurst.Seconds(), b.tokens+rate*(now-b.at).Seconds())
	b.at = now
}

// mutator is whose mutations count together: a user, a client id or both.
type mutator struct{ user, client string }

// mutationQuota is what one request may change; the zero value has no limit.
type mutationQuota struct {
	bucket *tokenBucket
	rate   float64 // tokens a second
	strict bool
	wait   time.Duration // that the client is to be told
}

// mutationQuota gives the quota of who asks. Without client quotas it costs a
// comparison.
func (m *Machine) mutationQuota(r Request, strictSince int16) mutationQuota {
	held := m.image().Access()
	if held.NumQuotas() == 0 {
		return mutationQuota{}
	}
	_, user := admin.SplitPrincipal(r.Principal)
	rate, who, ok := mutationRateOf(held, user, r.ClientID)
	if !ok {
		return mutationQuota{}
	}
	b := m.buckets[who]
	if b == nil {
		m.dropIdleBuckets()
		b = &tokenBucket{tokens: math.Inf(1), at: m.now}
		m.buckets[who] = b
	}
	b.refill(rate, m.now)
	return mutationQuota{bucket: b, rate: rate, strict: r.Body.GetVersion() >= strictSince}
}

func (m *Machine) dropIdleBuckets() {
	if len(m.buckets) < maxIdleBuckets {
		return
	}
	for who, b := range m.buckets {
		if m.now-b.at > mutationBurst && b.tokens >= 0 {
			delete(m.buckets, who)
		}
	}
}

// mutationRateOf gives the quota that holds for a user with a client id, the most
// specific one, as Kafka's DefaultQuotaCallback chooses it.
func mutationRateOf(held *metadata.Access, user, client string) (rate float64, who mutator, ok bool) {
	named := func(kind, name string) metadata.QuotaPart { return metadata.QuotaPart{Type: kind, Name: name} }
	others := func(kind string) metadata.QuotaPart { return metadata.QuotaPart{Type: kind, Default: true} }
	u, c := named(admin.QuotaUser, user), named(admin.QuotaClientID, client)
	anyUser, anyClient := others(admin.QuotaUser), others(admin.QuotaClientID)
	both, userAlone, clientAlone := mutator{user, client}, mutator{user: user}, mutator{client: client}
	for _, x := range []struct {
		entity metadata.QuotaEntity
		who    mutator
	}{
		{metadata.QuotaEntity{c, u}, both},
		{metadata.QuotaEntity{anyClient, u}, both},
		{metadata.QuotaEntity{u}, userAlone},
		{metadata.QuotaEntity{c, anyUser}, both},
		{metadata.QuotaEntity{anyClient, anyUser}, both},
		{metadata.QuotaEntity{anyUser}, userAlone},
		{metadata.QuotaEntity{c}, clientAlone},
		{metadata.QuotaEntity{anyClient}, clientAlone},
	} {
		if rate, ok := held.Quota(x.entity)[mutationRate]; ok {
			return rate, x.who, true
		}
	}
	return 0, mutator{}, false
}

// take counts partitions that the request creates or deletes, or refuses them
// where the quota was used up before.
func (q *mutationQuota) take(partitions int) *fault {
	if q.bucket == nil {
		return nil
	}
	if q.strict && q.bucket.tokens < 0 {
		q.wait = q.untilNone()
		return faultf(kafka.ThrottlingQuotaExceeded, throttled)
	}
	q.bucket.tokens -= float64(partitions)
	if !q.strict && q.bucket.tokens < 0 {
		q.wait = q.untilNone()
	}
	return nil
}

// untilNone is how long it takes until the bucket is at zero again.
func (q *mutationQuota) untilNone() time.Duration {
	return time.Duration(-q.bucket.tokens / q.rate * float64(time.Second))
}

// throttleMs is what the answer tells of the wait, in milliseconds.
func (q *mutationQuota) throttleMs() int32 {
	return int32(min(q.wait.Round(time.Millisecond).Milliseconds(), math.MaxInt32))
}

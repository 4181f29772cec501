package sim

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// tokenSecret is the key of delegation tokens of all controllers.
const tokenSecret = "sim"

// principal is who asks through a broker.
func principal(id int) string { return fmt.Sprintf("User:u%d", id) }

// operate is what an operator might ask of the whole cluster through this broker;
// nil for nothing.
func (b *broker) operate() kmsg.Request {
	rng := b.n.w.rng
	switch rng.IntN(9) {
	case 0, 1:
		return b.eligibleReplicas()
	case 2:
		return b.upgrade()
	case 3:
		return b.acl()
	case 4:
		return b.scram()
	case 5:
		return b.quota()
	case 6, 7:
		return b.token()
	}
	if rng.IntN(2) > 0 {
		return nil
	}
	r := kmsg.NewPtrUnregisterBrokerRequest()
	ids := b.n.w.brokerIDs()
	r.BrokerID = ids[rng.IntN(len(ids))]
	return r
}

// eligibleReplicas turns KIP-966 on, or off now and then.
func (b *broker) eligibleReplicas() kmsg.Request {
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel, f.UpgradeType = metadata.ELRVersionFeature, 1, 1
	if b.image.FeatureLevel(f.Feature) == 1 && b.n.w.rng.IntN(4) == 0 {
		f.MaxVersionLevel, f.UpgradeType = 0, 2
	}
	return updateFeatures(f)
}

// upgrade sets another metadata.version; one that is lower is mostly refused.
func (b *broker) upgrade() kmsg.Request {
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.UpgradeType = metadata.MetadataVersionFeature, 1
	f.MaxVersionLevel = int16(levels[b.n.w.rng.IntN(len(levels))])
	if f.MaxVersionLevel < b.image.FeatureLevel(f.Feature) {
		f.UpgradeType = 2
	}
	return updateFeatures(f)
}

// rescue asks for unclean leaders of partitions that have nobody to elect any
// more: a ClearElrRecord has taken the eligible replicas of one without ISR, as in
// Kafka, or a reassignment its last known leader. Nil where there are none.
func (b *broker) rescue() kmsg.Request {
	r := kmsg.NewPtrElectLeadersRequest()
	r.Version, r.ElectionType = 2, 1
	for tp, p := range b.image.Partitions() {
		if p.Leader == kafka.NoLeader && len(p.ISR) == 0 && len(p.ELR()) == 0 && !slices.ContainsFunc(p.LastKnownELR(), p.HasReplica) {
			r.Topics = append(r.Topics, kmsg.ElectLeadersRequestTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
		}
	}
	if len(r.Topics) == 0 {
		return nil
	}
	return r
}

func updateFeatures(f kmsg.UpdateFeaturesRequestFeatureUpdate) kmsg.Request {
	r := kmsg.NewPtrUpdateFeaturesRequest()
	r.Version, r.FeatureUpdates = 1, append(r.FeatureUpdates, f)
	return r
}

// acl lets a user read a topic, or takes what it may from it.
func (b *broker) acl() kmsg.Request {
	rng := b.n.w.rng
	user := principal(rng.IntN(3))
	if rng.IntN(3) > 0 {
		c := kmsg.NewCreateACLsRequestCreation()
		c.ResourceType, c.ResourceName, c.ResourcePatternType = kmsg.ACLResourceTypeTopic, fmt.Sprintf("t%d", rng.IntN(4)), kmsg.ACLResourcePatternTypeLiteral
		c.Principal, c.Host, c.Operation, c.PermissionType = user, "*", kmsg.ACLOperationRead, kmsg.ACLPermissionTypeAllow
		r := kmsg.NewPtrCreateACLsRequest()
		r.Version, r.Creations = 3, append(r.Creations, c)
		return r
	}
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourcePatternType, f.Principal = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny, &user
	f.Operation, f.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	r := kmsg.NewPtrDeleteACLsRequest()
	r.Version, r.Filters = 3, append(r.Filters, f)
	return r
}

// scram sets or deletes the credential of a user.
func (b *broker) scram() kmsg.Request {
	rng := b.n.w.rng
	user := fmt.Sprintf("u%d", rng.IntN(3))
	r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	if rng.IntN(3) == 0 {
		r.Deletions = append(r.Deletions, kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: user, Mechanism: 1})
		return r
	}
	r.Upsertions = append(r.Upsertions, kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
		Name: user, Mechanism: 1, Iterations: 4096 + int32(rng.IntN(100)), Salt: []byte("salt"), SaltedPassword: []byte("password"),
	})
	return r
}

// quota sets or removes the quota of a user.
func (b *broker) quota() kmsg.Request {
	rng := b.n.w.rng
	user := fmt.Sprintf("u%d", rng.IntN(3))
	e := kmsg.NewAlterClientQuotasRequestEntry()
	e.Entity = append(e.Entity, kmsg.AlterClientQuotasRequestEntryEntity{Type: admin.QuotaUser, Name: &user})
	e.Ops = append(e.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: "producer_byte_rate", Value: float64(1 + rng.IntN(1000)), Remove: rng.IntN(3) == 0})
	r := kmsg.NewPtrAlterClientQuotasRequest()
	r.Entries = append(r.Entries, e)
	return r
}

// token creates a delegation token of the broker's own principal, or renews or
// ends the first that it has.
func (b *broker) token() kmsg.Request {
	rng := b.n.w.rng
	for t := range b.image.Access().Tokens() {
		if t.Owner != principal(b.n.id) || rng.IntN(3) == 0 {
			continue
		}
		if rng.IntN(2) == 0 {
			r := kmsg.NewPtrRenewDelegationTokenRequest()
			r.Version, r.HMAC, r.RenewTimeMillis = 2, admin.TokenHMAC(tokenSecret, t.ID), 1+rng.Int64N(10_000)
			return r
		}
		r := kmsg.NewPtrExpireDelegationTokenRequest()
		r.Version, r.HMAC, r.ExpiryPeriodMillis = 2, admin.TokenHMAC(tokenSecret, t.ID), -1
		return r
	}
	r := kmsg.NewPtrCreateDelegationTokenRequest()
	r.Version, r.MaxLifetimeMillis = 3, -1
	return r
}

package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// taken is an operation that is acknowledged: whether the metadata has it, and
// what counts it. The zero value is that of one that was refused.
type taken struct {
	count *int64
	has   bool
	what  string
}

// operated looks at the answers to what broker.operate asks: what they tell is
// committed (K15).
func (j *judge) operated(c *controller, body kmsg.Request, resp kmsg.Response) {
	var t taken
	switch req := body.(type) {
	case *kmsg.UpdateFeaturesRequest:
		t = j.featureTaken(c.m.Image(), req, resp.(*kmsg.UpdateFeaturesResponse))
	case *kmsg.UnregisterBrokerRequest:
		if _, ok := c.m.Image().Broker(kafka.BrokerID(req.BrokerID)); resp.(*kmsg.UnregisterBrokerResponse).ErrorCode == 0 {
			t = taken{&j.w.cov.Unregistered, !ok, "the end of a registration"}
		}
	default:
		if t = j.tokenTaken(c.m.Image().Access(), body, resp); t.count == nil {
			t = j.accessTaken(c.m.Image().Access(), body, resp)
		}
	}
	if t.count == nil {
		return
	}
	*t.count++
	if !t.has {
		j.fail("K15", c.n.id, "%s is acknowledged and not committed: %+v", t.what, body)
	}
}

func (j *judge) featureTaken(image *metadata.Image, req *kmsg.UpdateFeaturesRequest, resp *kmsg.UpdateFeaturesResponse) taken {
	f := &req.FeatureUpdates[0]
	has := image.FeatureLevel(f.Feature) == f.MaxVersionLevel
	switch {
	case resp.ErrorCode != 0:
		return taken{}
	case f.Feature == metadata.ELRVersionFeature:
		return taken{&j.w.cov.ELRSwitches, has, "a level of the ELR"}
	}
	return taken{&j.w.cov.Upgrades, has, "a metadata.version"}
}

func (j *judge) accessTaken(held *metadata.Access, body kmsg.Request, resp kmsg.Response) taken {
	switch r := resp.(type) {
	case *kmsg.CreateACLsResponse:
		if b, err := admin.Binding(&body.(*kmsg.CreateACLsRequest).Creations[0]); r.Results[0].ErrorCode == 0 {
			return taken{&j.w.cov.ACLs, err == nil && hasACL(held, b), "an ACL"}
		}
	case *kmsg.DeleteACLsResponse:
		has := false
		for acl := range held.ACLs() {
			has = has || acl.Principal == *body.(*kmsg.DeleteACLsRequest).Filters[0].Principal
		}
		if r.Results[0].ErrorCode == 0 {
			return taken{&j.w.cov.ACLs, !has, "the end of ACLs"}
		}
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		up := body.(*kmsg.AlterUserSCRAMCredentialsRequest).Upsertions
		s, ok := held.Scram(r.Results[0].User, access.ScramSHA256)
		if r.Results[0].ErrorCode == 0 {
			return taken{&j.w.cov.Scrams, ok == (len(up) > 0) && (!ok || s.Iterations == up[0].Iterations), "a SCRAM credential"}
		}
	case *kmsg.AlterClientQuotasResponse:
		e := &body.(*kmsg.AlterClientQuotasRequest).Entries[0]
		if entity, err := admin.QuotaEntity(e.Entity); r.Entries[0].ErrorCode == 0 {
			value, ok := held.Quota(entity)[e.Ops[0].Key]
			return taken{&j.w.cov.Quotas, err == nil && ok == !e.Ops[0].Remove && (!ok || value == e.Ops[0].Value), "a quota"}
		}
	}
	return taken{}
}

func (j *judge) tokenTaken(held *metadata.Access, body kmsg.Request, resp kmsg.Response) taken {
	switch r := resp.(type) {
	case *kmsg.CreateDelegationTokenResponse:
		if _, ok := held.Token(r.TokenID); r.ErrorCode == 0 {
			return taken{&j.w.cov.Tokens, ok, "a token"}
		}
	case *kmsg.RenewDelegationTokenResponse:
		if t, ok := admin.TokenOf(held, tokenSecret, body.(*kmsg.RenewDelegationTokenRequest).HMAC); r.ErrorCode == 0 {
			return taken{&j.w.cov.Tokens, ok && t.ExpiresMs == r.ExpiryTimestamp, "the renewal of a token"}
		}
	case *kmsg.ExpireDelegationTokenResponse:
		if _, ok := admin.TokenOf(held, tokenSecret, body.(*kmsg.ExpireDelegationTokenRequest).HMAC); r.ErrorCode == 0 {
			return taken{&j.w.cov.Tokens, !ok, "the end of a token"}
		}
	}
	return taken{}
}

func hasACL(held *metadata.Access, b access.Binding) bool {
	for acl := range held.ACLs() {
		if acl.Binding == b {
			return true
		}
	}
	return false
}

package guard

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/refusal"
)

// aboutTokens reports whether a request makes, renews, ends or shows delegation
// tokens, which who logged in with one may not (KIP-48).
func aboutTokens(key int16) bool { return key >= 38 && key <= 41 }

// createToken needs CREATE_TOKENS on another user to make a token for them
// (KIP-373).
func createToken(c client, req *kmsg.CreateDelegationTokenRequest, next call) (kmsg.Response, error) {
	owner := deref(req.OwnerPrincipalType) + ":" + deref(req.OwnerPrincipalName)
	if deref(req.OwnerPrincipalName) == "" || owner == c.principal || c.may(access.CreateTokens, access.User, owner) {
		return next()
	}
	return refusal.Of(req, kafka.DelegationTokenAuthorizationFailed, ""), nil
}

// describeTokens shows one's own tokens and those that one may renew; of the
// others those that one may DESCRIBE, or whose owner one may DESCRIBE_TOKENS of.
func describeTokens(c client, req *kmsg.DescribeDelegationTokenRequest, next call) (kmsg.Response, error) {
	kresp, err := next()
	resp, ok := kresp.(*kmsg.DescribeDelegationTokenResponse)
	if !ok || err != nil {
		return kresp, err
	}
	resp.TokenDetails = slices.DeleteFunc(slices.Clone(resp.TokenDetails), func(t kmsg.DescribeDelegationTokenResponseTokenDetail) bool {
		owner := t.PrincipalType + ":" + t.PrincipalName
		own := owner == c.principal || slices.ContainsFunc(t.Renewers, func(r kmsg.DescribeDelegationTokenResponseTokenDetailRenewer) bool {
			return r.PrincipalType+":"+r.PrincipalName == c.principal
		})
		return !own && !c.may(access.Describe, access.DelegationToken, t.TokenID) && !c.may(access.DescribeTokens, access.User, owner)
	})
	return resp, nil
}

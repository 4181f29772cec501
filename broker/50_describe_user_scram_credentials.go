package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/wire"
)

// handleDescribeUserSCRAMCredentials gives the mechanisms of users, of all users
// where none is named; never a key.
func (b *Broker) handleDescribeUserSCRAMCredentials(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeUserSCRAMCredentialsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
	acc := b.Image().Access()
	if len(req.Users) == 0 {
		last := ""
		for c := range acc.Scrams() {
			if len(resp.Results) == 0 || c.User != last {
				last = c.User
				resp.Results = append(resp.Results, describedUser(last))
			}
			res := &resp.Results[len(resp.Results)-1]
			res.CredentialInfos = append(res.CredentialInfos, credentialInfo(c.Mechanism, c.Iterations))
		}
		return resp, nil
	}
	times := map[string]int{}
	for _, u := range req.Users {
		times[u.Name]++
	}
	told := map[string]bool{}
	for _, u := range req.Users {
		if told[u.Name] {
			continue
		}
		told[u.Name] = true
		res := describedUser(u.Name)
		for _, m := range access.Mechanisms() {
			if c, ok := acc.Scram(u.Name, m); ok {
				res.CredentialInfos = append(res.CredentialInfos, credentialInfo(m, c.Iterations))
			}
		}
		switch {
		case times[u.Name] > 1:
			res.CredentialInfos = nil
			refuseUser(&res, kafka.DuplicateResource, fmt.Sprintf("Cannot describe SCRAM credentials for the same user twice in a single request: %s", u.Name))
		case len(res.CredentialInfos) == 0:
			refuseUser(&res, kafka.ResourceNotFound, fmt.Sprintf("Attempt to describe a user credential that does not exist: %s", u.Name))
		}
		resp.Results = append(resp.Results, res)
	}
	return resp, nil
}

func describedUser(name string) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	res := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	res.User = name
	return res
}

func credentialInfo(m access.Mechanism, iterations int32) kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo {
	info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
	info.Mechanism, info.Iterations = int8(m), iterations
	return info
}

func refuseUser(res *kmsg.DescribeUserSCRAMCredentialsResponseResult, code kafka.ErrorCode, text string) {
	res.ErrorCode, res.ErrorMessage = int16(code), &text
}

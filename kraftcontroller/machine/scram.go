package machine

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// scramChange is what a request wants of one user.
type scramChange struct {
	record metadata.Record
	err    error
}

// alterScram decides AlterUserScramCredentials (51, KIP-554). One request may
// have one change of a user; two are refused both.
func (m *Machine) alterScram(r Request, req *kmsg.AlterUserSCRAMCredentialsRequest) error {
	var order []string
	changes := map[string]scramChange{}
	note := func(user string, c scramChange) {
		if _, twice := changes[user]; twice {
			c = scramChange{err: admin.ErrScramTwice}
		} else {
			order = append(order, user)
		}
		if !m.version().HasScram() {
			c = scramChange{err: admin.Faultf(kafka.UnsupportedVersion, "The current metadata.version does not support SCRAM")}
		}
		changes[user] = c
	}
	for i := range req.Deletions {
		note(req.Deletions[i].Name, m.deleteScram(&req.Deletions[i]))
	}
	for i := range req.Upsertions {
		note(req.Upsertions[i].Name, upsertScram(&req.Upsertions[i]))
	}
	resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
	var records []metadata.Record
	for _, user := range order {
		c := changes[user]
		answer := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		answer.User = user
		if answer.ErrorCode, answer.ErrorMessage = told(c.err); c.err == nil {
			records = append(records, c.record)
		}
		resp.Results = append(resp.Results, answer)
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

func (m *Machine) deleteScram(d *kmsg.AlterUserSCRAMCredentialsRequestDeletion) scramChange {
	if err := admin.ScramDeletion(d); err != nil {
		return scramChange{err: err}
	}
	mechanism := access.Mechanism(d.Mechanism)
	if _, ok := m.image().Access().Scram(d.Name, mechanism); !ok {
		return scramChange{err: admin.ErrScramMissing}
	}
	return scramChange{record: &metadata.RemoveUserScramCredentialRecord{Name: d.Name, Mechanism: mechanism}}
}

func upsertScram(u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) scramChange {
	if err := admin.ScramUpsertion(u); err != nil {
		return scramChange{err: err}
	}
	mechanism := access.Mechanism(u.Mechanism)
	keys := mechanism.KeysOf(u.SaltedPassword, u.Salt, u.Iterations)
	return scramChange{record: metadata.ScramCredential{User: u.Name, Mechanism: mechanism, Keys: keys}.Record()}
}

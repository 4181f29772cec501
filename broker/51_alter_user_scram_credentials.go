package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/access"
	"kbench/kafka/admin"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// scramChange is what a request asks for one user.
type scramChange struct {
	deletions  []*kmsg.AlterUserSCRAMCredentialsRequestDeletion
	upsertions []*kmsg.AlterUserSCRAMCredentialsRequestUpsertion
	err        error
}

// handleAlterUserSCRAMCredentials writes credentials into the configuration of
// their users. A user whose change is bad keeps all of his.
func (p *zkPlane) handleAlterUserSCRAMCredentials(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.AlterUserSCRAMCredentialsRequest)
	resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
	changes := map[string]*scramChange{}
	var order []string
	of := func(user string) *scramChange {
		c := changes[user]
		if c == nil {
			c = &scramChange{}
			changes[user] = c
			order = append(order, user)
		}
		return c
	}
	seen := map[string]bool{}
	check := func(c *scramChange, user string, mechanism int8, err error) {
		key := fmt.Sprintf("%d %s", mechanism, user)
		switch {
		case err != nil:
			c.err = err
		case seen[key]:
			c.err = admin.ErrScramTwice
		}
		seen[key] = true
	}
	for i := range req.Deletions {
		d := &req.Deletions[i]
		c := of(d.Name)
		c.deletions = append(c.deletions, d)
		check(c, d.Name, d.Mechanism, admin.ScramDeletion(d))
	}
	for i := range req.Upsertions {
		u := &req.Upsertions[i]
		c := of(u.Name)
		c.upsertions = append(c.upsertions, u)
		check(c, u.Name, u.Mechanism, admin.ScramUpsertion(u))
	}
	for _, user := range order {
		c := changes[user]
		if c.err == nil {
			c.err = p.alterScram(ctx, user, c)
		}
		x := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		x.User = user
		x.ErrorCode, x.ErrorMessage = answerOf(c.err)
		resp.Results = append(resp.Results, x)
	}
	return resp, nil
}

func (p *zkPlane) alterScram(ctx context.Context, user string, c *scramChange) error {
	s, err := p.live()
	if err != nil {
		return err
	}
	entity := zk.Sanitize(user)
	values, err := s.ReadConfig(ctx, zk.UserConfigs, entity)
	if err != nil {
		return err
	}
	for _, d := range c.deletions {
		key := access.Mechanism(d.Mechanism).String()
		if _, there := values[key]; !there {
			return admin.ErrScramMissing
		}
		delete(values, key)
	}
	for _, u := range c.upsertions {
		m := access.Mechanism(u.Mechanism)
		values[m.String()] = zk.EncodeScram(m.KeysOf(u.SaltedPassword, u.Salt, u.Iterations))
	}
	if err := s.WriteConfig(ctx, zk.UserConfigs, entity, values); err != nil {
		return err
	}
	return p.loadEntity(ctx, s, zk.UserConfigs+"/"+entity)
}

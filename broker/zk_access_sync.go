package broker

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
	"kbench/zkcontroller/zk"
)

// bindingID gives a binding the id under which an image has it. ZooKeeper mode
// knows none; this one is the same at all brokers.
func bindingID(b access.Binding) kafka.UUID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %q %q %q %d %d", b.ResourceType, b.PatternType, b.ResourceName, b.Principal, b.Host, b.Operation, b.Permission))
	return kafka.UUID(sum[:16])
}

// syncACLs makes the bindings within a scope those that are wanted.
func syncACLs(d *metadata.Delta, want []access.Binding, scope func(access.Binding) bool) error {
	keep := make(map[access.Binding]bool, len(want))
	for _, b := range want {
		keep[b] = true
	}
	var gone []kafka.UUID
	for a := range d.Image().Access().ACLs() {
		switch {
		case !scope(a.Binding):
		case keep[a.Binding]:
			delete(keep, a.Binding)
		default:
			gone = append(gone, a.ID)
		}
	}
	for _, id := range gone {
		if err := d.Replay(&metadata.RemoveAccessControlEntryRecord{ID: id}); err != nil {
			return err
		}
	}
	for b := range keep {
		r := &metadata.AccessControlEntryRecord{
			ID: bindingID(b), ResourceType: b.ResourceType, ResourceName: b.ResourceName, PatternType: b.PatternType,
			Principal: b.Principal, Host: b.Host, Operation: b.Operation, PermissionType: b.Permission,
		}
		if err := d.Replay(r); err != nil {
			return err
		}
	}
	return nil
}

// syncTokens makes the delegation tokens those that are wanted.
func syncTokens(d *metadata.Delta, want []zk.Token) error {
	keep := map[string]bool{}
	for _, t := range want {
		keep[t.ID] = true
		if err := putToken(d, t); err != nil {
			return err
		}
	}
	var gone []string
	for t := range d.Image().Access().Tokens() {
		if !keep[t.ID] {
			gone = append(gone, t.ID)
		}
	}
	for _, id := range gone {
		if err := d.Replay(&metadata.RemoveDelegationTokenRecord{TokenID: id}); err != nil {
			return err
		}
	}
	return nil
}

func putToken(d *metadata.Delta, t zk.Token) error {
	return d.Replay(&metadata.DelegationTokenRecord{
		TokenID: t.ID, Owner: t.Owner, Requester: t.Requester, Renewers: t.Renewers,
		IssueTimestamp: t.IssuedMs, MaxTimestamp: t.MaxMs, ExpirationTimestamp: t.ExpiresMs,
	})
}

// syncScram makes a user's credential the one of its configuration, "" for none.
// One that cannot be read is none.
func syncScram(d *metadata.Delta, user string, m access.Mechanism, value string) error {
	have, known := d.Image().Access().Scram(user, m)
	k, err := zk.DecodeScram(value)
	if err != nil {
		if !known {
			return nil
		}
		return d.Replay(&metadata.RemoveUserScramCredentialRecord{Name: user, Mechanism: m})
	}
	if known && have.Iterations == k.Iterations && bytes.Equal(have.Salt, k.Salt) && bytes.Equal(have.StoredKey, k.StoredKey) && bytes.Equal(have.ServerKey, k.ServerKey) {
		return nil
	}
	return d.Replay(&metadata.UserScramCredentialRecord{
		Name: user, Mechanism: m, Salt: k.Salt, StoredKey: k.StoredKey, ServerKey: k.ServerKey, Iterations: k.Iterations,
	})
}

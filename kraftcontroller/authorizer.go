package kraftcontroller

import (
	"sync/atomic"

	"kbench/kafka/access"
	"kbench/kafka/guard"
	"kbench/kafka/metadata"
)

// authorizer answers by the ACLs of the committed metadata. Without a
// configuration everybody may do everything.
type authorizer struct {
	cfg *access.Config
	now atomic.Pointer[authorized]
}

// authorized is the authorizer of one set of ACLs.
type authorized struct {
	held *metadata.Access
	auth *access.Authorizer
}

// see indexes the ACLs of an image where they changed; the loop calls it.
func (a *authorizer) see(image *metadata.Image) {
	held := image.Access()
	if a.cfg == nil {
		return
	}
	if now := a.now.Load(); now != nil && now.held == held {
		return
	}
	bindings := func(yield func(access.Binding) bool) {
		for acl := range held.ACLs() {
			if !yield(acl.Binding) {
				return
			}
		}
	}
	a.now.Store(&authorized{held, access.NewAuthorizer(*a.cfg, bindings)})
}

// current is nil without a configuration.
func (a *authorizer) current() *access.Authorizer {
	if now := a.now.Load(); now != nil {
		return now.auth
	}
	return nil
}

// guard stands before the APIs, and before the requests inside envelopes.
func (c *Controller) guard() guard.Guard {
	return guard.Guard{
		Authorizer: c.authorizer.current,
		TopicName: func(id [16]byte) (string, bool) {
			t, ok := c.View().Image.TopicByID(id)
			if !ok {
				return "", false
			}
			return t.Name(), true
		},
	}
}

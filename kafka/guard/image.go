package guard

import (
	"sync/atomic"

	"kbench/kafka/access"
	"kbench/kafka/metadata"
)

// OverImage gives a guard by the ACLs of the metadata that image gives at the
// moment; nil lets everybody do everything. Until ready says that they are
// there, super users alone are let in, since nobody knows yet what is forbidden.
func OverImage(cfg *access.Config, image func() *metadata.Image, ready func() bool) Guard {
	g := Guard{Authorizer: func() *access.Authorizer { return nil }, TopicName: func(id [16]byte) (string, bool) {
		t, ok := image().TopicByID(id)
		if !ok {
			return "", false
		}
		return t.Name(), true
	}}
	if cfg == nil {
		return g
	}
	closed := access.NewAuthorizer(access.Config{SuperUsers: cfg.SuperUsers}, func(func(access.Binding) bool) {})
	var kept atomic.Pointer[indexed]
	g.Authorizer = func() *access.Authorizer {
		if !ready() {
			return closed
		}
		held := image().Access()
		now := kept.Load()
		if now == nil || now.held != held {
			now = index(*cfg, held)
			kept.Store(now)
		}
		return now.auth
	}
	return g
}

// indexed is the authorizer of one set of ACLs.
type indexed struct {
	held *metadata.Access
	auth *access.Authorizer
}

func index(cfg access.Config, held *metadata.Access) *indexed {
	return &indexed{held, access.NewAuthorizer(cfg, func(yield func(access.Binding) bool) {
		for acl := range held.ACLs() {
			if !yield(acl.Binding) {
				return
			}
		}
	})}
}

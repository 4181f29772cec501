package datatree

import "kbench/internal/zkserver/proto"

// The permissions of an access list.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
)

// Caller is who asks for a change or a read: the identities that a connection
// has shown, whose Perms mean nothing. A nil Caller is the server itself, and the
// log at its replay: it may do everything.
type Caller struct{ Identities []proto.ACL }

// allows reports whether an access list lets the caller use any of the
// permissions. Who ZooKeeper's superuser is cannot be configured here.
func (a *aclTable) allows(list uint16, want int32, who *Caller) bool {
	if who == nil {
		return true
	}
	for _, entry := range a.lists[list] {
		if entry.Perms&want == 0 {
			continue
		}
		if entry.Scheme == "world" && entry.ID == "anyone" {
			return true
		}
		for _, id := range who.Identities {
			if id.Scheme == entry.Scheme && id.ID == entry.ID {
				return true
			}
		}
	}
	return false
}

// Allows reports whether the znode lets the caller use any of the permissions.
func (v View) Allows(want int32, who *Caller) bool { return v.t.acls.allows(v.n.acl, want, who) }

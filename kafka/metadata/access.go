package metadata

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
	"kbench/kafka/access"
)

// ACL is one binding of the authorizer under its id.
type ACL struct {
	ID kafka.UUID
	access.Binding
}

// ScramCredential is what a node needs to authenticate a user by SCRAM. Its
// slices are not written to.
type ScramCredential struct {
	User      string
	Mechanism access.Mechanism
	access.Keys
}

// DelegationToken is a token (KIP-48) without its secret. Times are
// milliseconds since the epoch.
type DelegationToken struct {
	ID        string
	Owner     string
	Requester string
	Renewers  []string
	IssuedMs  int64
	MaxMs     int64
	ExpiresMs int64
}

// QuotaEntity is whom quotas are for: parts by type, in the order of types.
// Entities of equal parts are equal whatever order they came in.
type QuotaEntity []QuotaPart

// QuotaPart is one part of an entity.
type QuotaPart struct {
	Type    string // user, client-id or ip
	Name    string // meaningless where Default is set
	Default bool
}

// String gives the parts in order, for logs and as a key.
func (e QuotaEntity) String() string {
	parts := make([]string, len(e))
	for i, p := range e {
		parts[i] = p.Type + "=" + strconv.Quote(p.Name)
		if p.Default {
			parts[i] = p.Type + "=<default>"
		}
	}
	return strings.Join(parts, ",")
}

// compareQuotaEntities orders entities by their parts.
func compareQuotaEntities(a, b QuotaEntity) int {
	return slices.CompareFunc(a, b, func(x, y QuotaPart) int {
		return cmp.Or(strings.Compare(x.Type, y.Type), compareBool(y.Default, x.Default), strings.Compare(x.Name, y.Name))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// NewQuotaEntity orders the parts of an entity.
func NewQuotaEntity(parts []QuotaPart) QuotaEntity {
	e := QuotaEntity(slices.Clone(parts))
	slices.SortFunc(e, func(x, y QuotaPart) int { return strings.Compare(x.Type, y.Type) })
	return e
}

// Access is the part of an image that says who may do what and how much:
// ACLs, SCRAM credentials, delegation tokens and client quotas. It is
// immutable like its image.
type Access struct {
	acls   tree[ACL]
	scram  tree[ScramCredential]
	tokens treeMap[string, *DelegationToken]
	quotas tree[quotaEntry]
}

// quotaEntry is an entity with its quotas, a map that is never written once
// the entry is in an image.
type quotaEntry struct {
	entity QuotaEntity
	values map[string]float64
}

var noAccess = &Access{
	acls:  newTree(func(a, b ACL) bool { return bytes.Compare(a.ID[:], b.ID[:]) < 0 }),
	scram: newTree(lessScram), tokens: newTreeMap[string, *DelegationToken](),
	quotas: newTree(func(a, b quotaEntry) bool { return compareQuotaEntities(a.entity, b.entity) < 0 }),
}

func lessScram(a, b ScramCredential) bool {
	return cmp.Or(strings.Compare(a.User, b.User), cmp.Compare(a.Mechanism, b.Mechanism)) < 0
}

func (a *Access) fork() *Access {
	return &Access{acls: a.acls.fork(), scram: a.scram.fork(), tokens: a.tokens.fork(), quotas: a.quotas.fork()}
}

// Access gives the image's ACLs, credentials, tokens and quotas.
func (i *Image) Access() *Access { return i.access }

// ACLs walks the bindings by id.
func (a *Access) ACLs() iter.Seq[ACL] {
	return func(yield func(ACL) bool) { a.acls.Scan(yield) }
}

// NumACLs counts the bindings.
func (a *Access) NumACLs() int { return a.acls.Len() }

// ACL finds a binding by id.
func (a *Access) ACL(id kafka.UUID) (ACL, bool) { return a.acls.Get(ACL{ID: id}) }

// Scram finds the credential of a user.
func (a *Access) Scram(user string, m access.Mechanism) (ScramCredential, bool) {
	return a.scram.Get(ScramCredential{User: user, Mechanism: m})
}

// Scrams walks the credentials by user and mechanism.
func (a *Access) Scrams() iter.Seq[ScramCredential] {
	return func(yield func(ScramCredential) bool) { a.scram.Scan(yield) }
}

// Token finds a delegation token.
func (a *Access) Token(id string) (*DelegationToken, bool) { return a.tokens.Get(id) }

// Tokens walks the delegation tokens by id.
func (a *Access) Tokens() iter.Seq[*DelegationToken] { return a.tokens.all() }

// Quotas walks the entities that have quotas. The maps are the image's own.
func (a *Access) Quotas() iter.Seq2[QuotaEntity, map[string]float64] {
	return func(yield func(QuotaEntity, map[string]float64) bool) {
		a.quotas.Scan(func(e quotaEntry) bool { return yield(e.entity, e.values) })
	}
}

// NumQuotas counts the entities that have quotas.
func (a *Access) NumQuotas() int { return a.quotas.Len() }

// Quota gives the quotas of an entity, nil for none.
func (a *Access) Quota(e QuotaEntity) map[string]float64 {
	found, _ := a.quotas.Get(quotaEntry{entity: e})
	return found.values
}

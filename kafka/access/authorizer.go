package access

import (
	"iter"
	"slices"
	"sort"
	"strings"
)

const (
	wildcard  = "*"
	everybody = "User:*"
)

// Anonymous is the principal of a client that did not authenticate.
const Anonymous = "User:ANONYMOUS"

// Config is how an authorizer answers where no binding does.
type Config struct {
	SuperUsers  []string // principals that may do everything
	AllowIfNone bool     // allow.everyone.if.no.acl.found: what resources without bindings allow
	HostRanges  bool     // the host of a binding may be a range of addresses, as Kafka 4.4 has them
}

// Action is one thing that somebody wants to do.
type Action struct {
	Principal    string
	Host         string // address without a port
	Operation    Operation
	ResourceType ResourceType
	ResourceName string
}

// Authorizer answers for one set of bindings. A nil Authorizer allows
// everything, as a cluster without one does.
type Authorizer struct {
	cfg      Config
	literal  map[resource][]Binding
	prefixed map[ResourceType]prefixes
}

type resource struct {
	kind ResourceType
	name string
}

// prefixes are the prefixed bindings of a type, by prefix, and the lengths of
// the prefixes: a name is looked up once for each length.
type prefixes struct {
	byPrefix map[string][]Binding
	lengths  []int
}

// NewAuthorizer indexes bindings, so that an answer costs the bindings of the
// resource and not those of the cluster.
func NewAuthorizer(cfg Config, bindings iter.Seq[Binding]) *Authorizer {
	a := &Authorizer{cfg: cfg, literal: map[resource][]Binding{}, prefixed: map[ResourceType]prefixes{}}
	for b := range bindings {
		if b.PatternType != Prefixed {
			k := resource{b.ResourceType, b.ResourceName}
			a.literal[k] = append(a.literal[k], b)
			continue
		}
		p := a.prefixed[b.ResourceType]
		if p.byPrefix == nil {
			p.byPrefix = map[string][]Binding{}
		}
		p.byPrefix[b.ResourceName] = append(p.byPrefix[b.ResourceName], b)
		if i := sort.SearchInts(p.lengths, len(b.ResourceName)); i == len(p.lengths) || p.lengths[i] != len(b.ResourceName) {
			p.lengths = slices.Insert(p.lengths, i, len(b.ResourceName))
		}
		a.prefixed[b.ResourceType] = p
	}
	return a
}

// Allows answers one action. A binding that denies wins over every one that
// allows, whichever is more specific.
func (a *Authorizer) Allows(act Action) bool {
	if a == nil || slices.Contains(a.cfg.SuperUsers, act.Principal) {
		return true
	}
	found, allowed := false, false
	for b := range a.actingOn(act.ResourceType, act.ResourceName) {
		found = true
		switch {
		case !a.concerns(b, act.Principal, act.Host):
		case b.Permission == Deny && (b.Operation == All || b.Operation == act.Operation):
			return false
		case b.Permission == Allow && grants(b.Operation, act.Operation):
			allowed = true
		}
	}
	if !found {
		return a.cfg.AllowIfNone
	}
	return allowed
}

// AllowsAny reports whether the principal may do the operation on at least one
// resource of the type, as idempotent producers must be able to write to some
// topic. Names that exist are not asked for: a pattern that is not denied
// everywhere is enough.
func (a *Authorizer) AllowsAny(principal, host string, op Operation, kind ResourceType) bool {
	if a == nil || slices.Contains(a.cfg.SuperUsers, principal) {
		return true
	}
	allowed := a.cfg.AllowIfNone
	for b := range a.ofType(kind) {
		if !a.concerns(b, principal, host) {
			continue
		}
		deny := b.Permission == Deny && (b.Operation == All || b.Operation == op)
		if deny && b.PatternType == Literal && b.ResourceName == wildcard {
			return false
		}
		if b.Permission == Allow && grants(b.Operation, op) && !a.deniedWholly(b, principal, host, op) {
			allowed = true
		}
	}
	return allowed
}

// deniedWholly reports whether a denial covers all that b grants. Of what the
// wildcard grants no prefix covers all, not even the prefix "*", and the
// wildcard's own denial is the caller's to see.
func (a *Authorizer) deniedWholly(b Binding, principal, host string, op Operation) bool {
	if b.PatternType == Literal && b.ResourceName == wildcard {
		return false
	}
	for d := range a.actingOn(b.ResourceType, b.ResourceName) {
		if d.Permission != Deny || d.Operation != All && d.Operation != op || !a.concerns(d, principal, host) {
			continue
		}
		if d.PatternType == Prefixed || b.PatternType == Literal || d.ResourceName == wildcard {
			return true
		}
	}
	return false
}

// actingOn walks the bindings whose patterns cover the resource.
func (a *Authorizer) actingOn(kind ResourceType, name string) iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for _, key := range []string{name, wildcard} {
			for _, b := range a.literal[resource{kind, key}] {
				if !yield(b) {
					return
				}
			}
			if name == wildcard {
				break
			}
		}
		p := a.prefixed[kind]
		for _, n := range p.lengths {
			if n > len(name) {
				return
			}
			for _, b := range p.byPrefix[name[:n]] {
				if !yield(b) {
					return
				}
			}
		}
	}
}

func (a *Authorizer) ofType(kind ResourceType) iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for k, bs := range a.literal {
			if k.kind != kind {
				continue
			}
			for _, b := range bs {
				if !yield(b) {
					return
				}
			}
		}
		for _, bs := range a.prefixed[kind].byPrefix {
			for _, b := range bs {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// concerns reports whether a binding is about this client.
func (a *Authorizer) concerns(b Binding, principal, host string) bool {
	who := b.Principal == principal || b.Principal == everybody && strings.HasPrefix(principal, "User:")
	return who && (b.Host == host || b.Host == wildcard || a.cfg.HostRanges && inRange(b.Host, host))
}

// grants reports whether a permission for have covers want. Whoever may read,
// write, delete or alter may also describe; whoever may alter configurations
// may describe them. Denials imply nothing of the kind.
func grants(have, want Operation) bool {
	switch {
	case have == All || have == want:
		return true
	case want == Describe:
		return have == Read || have == Write || have == Delete || have == Alter
	case want == DescribeConfigs:
		return have == AlterConfigs
	}
	return false
}

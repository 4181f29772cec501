package access

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Binding is one rule: a principal may, or may not, do an operation on the
// resources of a pattern from a host.
type Binding struct {
	ResourceType ResourceType
	ResourceName string // * as a Literal means every resource of the type
	PatternType  PatternType
	Principal    string // type:name; User:* is everybody
	Host         string // an address, or a range of them, see Config.HostRanges; * is every host
	Operation    Operation
	Permission   Permission
}

// String gives one line for logs and errors.
func (b Binding) String() string {
	return fmt.Sprintf("%s %s to %s on %s %s:%s from %s", b.Permission, b.Principal, b.Operation, b.PatternType, b.ResourceType, b.ResourceName, b.Host)
}

// operationsOf is what can be done with each kind of resource besides All; a
// binding for anything else would never act.
var operationsOf = map[ResourceType][]Operation{
	Topic:           {Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs},
	Group:           {Read, Delete, Describe, DescribeConfigs, AlterConfigs},
	Cluster:         {Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite},
	TransactionalID: {Write, Describe},
	DelegationToken: {Describe},
	User:            {CreateTokens, DescribeTokens},
}

// Validate checks what a CreateAcls request may ask for. The error is for an
// INVALID_REQUEST.
func (b Binding) Validate() error {
	ops, known := operationsOf[b.ResourceType]
	switch kind, name, ok := strings.Cut(b.Principal, ":"); {
	case !known:
		return fmt.Errorf("the resource type %s cannot have an ACL", b.ResourceType)
	case b.PatternType != Literal && b.PatternType != Prefixed:
		return fmt.Errorf("the pattern type %s is for filters; an ACL is Literal or Prefixed", b.PatternType)
	case b.Permission != Allow && b.Permission != Deny:
		return fmt.Errorf("the permission %s is for filters; an ACL is Allow or Deny", b.Permission)
	case b.Operation != All && !slices.Contains(ops, b.Operation):
		return fmt.Errorf("the operation %s does not exist on a %s", b.Operation, b.ResourceType)
	case b.ResourceName == "":
		return errors.New("the resource name is empty")
	case b.ResourceType == Cluster && (b.PatternType != Literal || b.ResourceName != ClusterName):
		return fmt.Errorf("the only cluster resource is the literal %s", ClusterName)
	case !ok || kind == "" || name == "":
		return fmt.Errorf("the principal %.64q is not type:name, such as User:ann", b.Principal)
	case b.Host == "":
		return errors.New("the host is empty; * is every host")
	}
	return nil
}

// IsRange reports whether a host is meant for a range of addresses.
func IsRange(host string) bool { return strings.Contains(host, "/") }

// ValidateRange checks a range of addresses, such as 10.1.0.0/16. The error is
// for an INVALID_REQUEST.
func ValidateRange(host string) error {
	_, err := netip.ParsePrefix(host)
	return err
}

// inRange reports whether a range holds an address. What is no range holds none.
func inRange(host, addr string) bool {
	if !IsRange(host) {
		return false
	}
	p, err := netip.ParsePrefix(host)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(addr)
	return err == nil && p.Contains(at.Unmap().WithZone(""))
}

// Filter picks bindings. Nil strings and the Any numbers match everything.
type Filter struct {
	ResourceType ResourceType
	ResourceName *string
	PatternType  PatternType
	Principal    *string
	Host         *string
	Operation    Operation
	Permission   Permission
}

// Validate checks the numbers of a filter. The error is for an
// INVALID_REQUEST.
func (f Filter) Validate() error {
	for _, c := range []struct {
		what  string
		known bool
	}{
		{"resource type", f.ResourceType >= AnyResource && f.ResourceType <= User},
		{"pattern type", f.PatternType >= AnyPattern && f.PatternType <= Prefixed},
		{"operation", f.Operation >= AnyOperation && f.Operation <= DescribeTokens},
		{"permission", f.Permission >= AnyPermission && f.Permission <= Allow},
	} {
		if !c.known {
			return fmt.Errorf("the filter's %s is unknown", c.what)
		}
	}
	return nil
}

// Matches reports whether the filter picks b.
func (f Filter) Matches(b Binding) bool {
	return (f.ResourceType == AnyResource || f.ResourceType == b.ResourceType) && f.matchesName(b) &&
		(f.Principal == nil || *f.Principal == b.Principal) && (f.Host == nil || *f.Host == b.Host) &&
		(f.Operation == AnyOperation || f.Operation == b.Operation) &&
		(f.Permission == AnyPermission || f.Permission == b.Permission)
}

func (f Filter) matchesName(b Binding) bool {
	switch f.PatternType {
	case Match:
		return f.ResourceName == nil || b.actsOn(*f.ResourceName)
	case AnyPattern:
	default:
		if f.PatternType != b.PatternType {
			return false
		}
	}
	return f.ResourceName == nil || *f.ResourceName == b.ResourceName
}

// actsOn reports whether the pattern covers a resource of the name.
func (b Binding) actsOn(name string) bool {
	if b.PatternType == Prefixed {
		return strings.HasPrefix(name, b.ResourceName)
	}
	return b.ResourceName == name || b.ResourceName == wildcard
}

package zk

import (
	"encoding/json"
	"fmt"
	"strings"

	"kbench/kafka/access"
)

// ACLResource is what a znode of ACLs is about: one resource, or with
// access.Prefixed all whose name begins so.
type ACLResource struct {
	Type    access.ResourceType
	Name    string
	Pattern access.PatternType // access.Literal or access.Prefixed
}

// The roots of ACLs and of their notifications.
const (
	aclRoot              = "/kafka-acl"
	extendedACLRoot      = "/kafka-acl-extended/prefixed"
	ACLChangesPath       = "/kafka-acl-changes"
	PrefixChangesPath    = "/kafka-acl-extended-changes"
	aclChangePrefix      = "/acl_changes_"
	delegationTokensPath = "/delegation_token/tokens"
	TokenChangesPath     = "/delegation_token/token_changes"
)

// ACLRoot is the parent of the resource types of a pattern.
func ACLRoot(p access.PatternType) string {
	if p == access.Prefixed {
		return extendedACLRoot
	}
	return aclRoot
}

// Path is the znode with the resource's ACLs.
func (r ACLResource) Path() string { return ACLRoot(r.Pattern) + "/" + r.Type.String() + "/" + r.Name }

// change gives where the change of a resource's ACLs is told, and its data.
func (r ACLResource) change() (path string, data []byte) {
	if r.Pattern == access.Prefixed {
		b := appendString([]byte(`{"version":1,"resourceType":`), upperName(r.Type))
		b = appendString(append(b, `,"name":`...), r.Name)
		return PrefixChangesPath + aclChangePrefix, append(b, `,"patternType":"PREFIXED"}`...)
	}
	return ACLChangesPath + aclChangePrefix, []byte(upperName(r.Type) + ":" + r.Name)
}

// upperName gives Kafka's name of a constant: TransactionalId is
// TRANSACTIONAL_ID.
func upperName(t access.ResourceType) string {
	var b strings.Builder
	for i, c := range t.String() {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String())
}

// resourceTypeOf reads either of Kafka's two spellings.
func resourceTypeOf(s string) (access.ResourceType, bool) {
	for t := access.Topic; t <= access.User; t++ {
		if s == t.String() || s == upperName(t) {
			return t, true
		}
	}
	return 0, false
}

// DecodeACLChange reads a node of ACLChangesPath.
func DecodeACLChange(data []byte) (ACLResource, error) {
	kind, name, ok := strings.Cut(string(data), ":")
	t, known := resourceTypeOf(kind)
	if !ok || !known {
		return ACLResource{}, fmt.Errorf("ACL change %.80q is not TYPE:name", data)
	}
	return ACLResource{t, name, access.Literal}, nil
}

// DecodePrefixChange reads a node of PrefixChangesPath.
func DecodePrefixChange(data []byte) (ACLResource, error) {
	var j struct {
		Type    string `json:"resourceType"`
		Name    string `json:"name"`
		Pattern string `json:"patternType"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return ACLResource{}, fmt.Errorf("ACL change %.80q: %w", data, err)
	}
	t, known := resourceTypeOf(j.Type)
	if !known || j.Pattern != "PREFIXED" {
		return ACLResource{}, fmt.Errorf("ACL change %.80q is not about a prefixed resource", data)
	}
	return ACLResource{t, j.Name, access.Prefixed}, nil
}

// EncodeACLs gives the data of a resource's ACLs, in the order given.
func EncodeACLs(bindings []access.Binding) []byte {
	b := []byte(`{"acls":[`)
	for i, x := range bindings {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"principal":`...), x.Principal)
		b = appendString(append(b, `,"permissionType":`...), x.Permission.String())
		b = appendString(append(b, `,"host":`...), x.Host)
		b = appendString(append(b, `,"operation":`...), x.Operation.String())
		b = append(b, '}')
	}
	return append(b, `],"version":1}`...)
}

// DecodeACLs reads the ACLs of a resource.
func DecodeACLs(r ACLResource, data []byte) ([]access.Binding, error) {
	var j struct {
		ACLs []struct {
			Principal  string `json:"principal"`
			Permission string `json:"permissionType"`
			Operation  string `json:"operation"`
			Host       string `json:"host"`
		} `json:"acls"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%s %.80q: %w", r.Path(), data, err)
	}
	var out []access.Binding
	for _, a := range j.ACLs {
		op, known := access.ParseOperation(a.Operation)
		perm, also := access.ParsePermission(a.Permission)
		if !known || !also {
			return nil, fmt.Errorf("%s has an ACL with operation %q and permission %q", r.Path(), a.Operation, a.Permission)
		}
		out = append(out, access.Binding{
			ResourceType: r.Type, ResourceName: r.Name, PatternType: r.Pattern,
			Principal: a.Principal, Host: a.Host, Operation: op, Permission: perm,
		})
	}
	return out, nil
}

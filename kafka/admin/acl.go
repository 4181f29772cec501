package admin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
)

// Binding gives the binding that a CreateAcls request asks for; the error is
// INVALID_REQUEST.
func Binding(c *kmsg.CreateACLsRequestCreation) (access.Binding, error) {
	b := access.Binding{
		ResourceType: access.ResourceType(c.ResourceType), ResourceName: c.ResourceName,
		PatternType: access.PatternType(c.ResourcePatternType), Principal: c.Principal, Host: c.Host,
		Operation: access.Operation(c.Operation), Permission: access.Permission(c.PermissionType),
	}
	if err := b.Validate(); err != nil {
		return b, Faultf(kafka.InvalidRequest, "%v", err)
	}
	return b, nil
}

// DeletionFilter gives a filter of a DeleteAcls request; the error is
// INVALID_REQUEST.
func DeletionFilter(f *kmsg.DeleteACLsRequestFilter) (access.Filter, error) {
	return valid(access.Filter{
		ResourceType: access.ResourceType(f.ResourceType), ResourceName: f.ResourceName,
		PatternType: access.PatternType(f.ResourcePatternType), Principal: f.Principal, Host: f.Host,
		Operation: access.Operation(f.Operation), Permission: access.Permission(f.PermissionType),
	})
}

func valid(f access.Filter) (access.Filter, error) {
	if err := f.Validate(); err != nil {
		return f, Faultf(kafka.InvalidRequest, "%v", err)
	}
	return f, nil
}

// DeletedACL tells of a binding that was removed.
func DeletedACL(b access.Binding) kmsg.DeleteACLsResponseResultMatchingACL {
	a := kmsg.NewDeleteACLsResponseResultMatchingACL()
	a.ResourceType, a.ResourceName = kmsg.ACLResourceType(b.ResourceType), b.ResourceName
	a.ResourcePatternType = kmsg.ACLResourcePatternType(b.PatternType)
	a.Principal, a.Host = b.Principal, b.Host
	a.Operation, a.PermissionType = kmsg.ACLOperation(b.Operation), kmsg.ACLPermissionType(b.Permission)
	return a
}

// DescribeACLs answers a DescribeAcls request: the bindings that its filter
// matches, by resource, each resource once.
func DescribeACLs(held *metadata.Access, req *kmsg.DescribeACLsRequest) *kmsg.DescribeACLsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeACLsResponse)
	f, err := valid(access.Filter{
		ResourceType: access.ResourceType(req.ResourceType), ResourceName: req.ResourceName,
		PatternType: access.PatternType(req.ResourcePatternType), Principal: req.Principal, Host: req.Host,
		Operation: access.Operation(req.Operation), Permission: access.Permission(req.PermissionType),
	})
	if err != nil {
		text := err.Error()
		resp.ErrorCode, resp.ErrorMessage = int16(CodeOf(err)), &text
		return resp
	}
	var found []access.Binding
	for acl := range held.ACLs() {
		if f.Matches(acl.Binding) {
			found = append(found, acl.Binding)
		}
	}
	slices.SortFunc(found, CompareBindings)
	for i, b := range found {
		if i == 0 || !sameResource(found[i-1], b) {
			res := kmsg.NewDescribeACLsResponseResource()
			res.ResourceType, res.ResourceName = kmsg.ACLResourceType(b.ResourceType), b.ResourceName
			res.ResourcePatternType = kmsg.ACLResourcePatternType(b.PatternType)
			resp.Resources = append(resp.Resources, res)
		}
		a := kmsg.NewDescribeACLsResponseResourceACL()
		a.Principal, a.Host = b.Principal, b.Host
		a.Operation, a.PermissionType = kmsg.ACLOperation(b.Operation), kmsg.ACLPermissionType(b.Permission)
		last := &resp.Resources[len(resp.Resources)-1]
		last.ACLs = append(last.ACLs, a)
	}
	return resp
}

func sameResource(a, b access.Binding) bool {
	return a.ResourceType == b.ResourceType && a.ResourceName == b.ResourceName && a.PatternType == b.PatternType
}

// CompareBindings orders bindings by resource, then by the rest.
func CompareBindings(x, y access.Binding) int {
	return cmp.Or(
		cmp.Compare(x.ResourceType, y.ResourceType), strings.Compare(x.ResourceName, y.ResourceName), cmp.Compare(x.PatternType, y.PatternType),
		strings.Compare(x.Principal, y.Principal), strings.Compare(x.Host, y.Host), cmp.Compare(x.Operation, y.Operation), cmp.Compare(x.Permission, y.Permission),
	)
}

package broker

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/wire"
)

// handleDescribeACLs gives the bindings that a filter matches, by resource.
func (b *Broker) handleDescribeACLs(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeACLsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeACLsResponse)
	f := access.Filter{
		ResourceType: access.ResourceType(req.ResourceType), ResourceName: req.ResourceName,
		PatternType: access.PatternType(req.ResourcePatternType), Principal: req.Principal, Host: req.Host,
		Operation: access.Operation(req.Operation), Permission: access.Permission(req.PermissionType),
	}
	if err := f.Validate(); err != nil {
		text := err.Error()
		resp.ErrorCode, resp.ErrorMessage = int16(kafka.InvalidRequest), &text
		return resp, nil
	}
	var found []access.Binding
	for acl := range b.Image().Access().ACLs() {
		if f.Matches(acl.Binding) {
			found = append(found, acl.Binding)
		}
	}
	slices.SortFunc(found, compareBindings)
	for _, x := range found {
		n := len(resp.Resources)
		if n == 0 || !sameResource(&resp.Resources[n-1], &x) {
			res := kmsg.NewDescribeACLsResponseResource()
			res.ResourceType, res.ResourceName = kmsg.ACLResourceType(x.ResourceType), x.ResourceName
			res.ResourcePatternType = kmsg.ACLResourcePatternType(x.PatternType)
			resp.Resources = append(resp.Resources, res)
			n++
		}
		a := kmsg.NewDescribeACLsResponseResourceACL()
		a.Principal, a.Host = x.Principal, x.Host
		a.Operation, a.PermissionType = kmsg.ACLOperation(x.Operation), kmsg.ACLPermissionType(x.Permission)
		resp.Resources[n-1].ACLs = append(resp.Resources[n-1].ACLs, a)
	}
	return resp, nil
}

func sameResource(r *kmsg.DescribeACLsResponseResource, x *access.Binding) bool {
	return access.ResourceType(r.ResourceType) == x.ResourceType && r.ResourceName == x.ResourceName &&
		access.PatternType(r.ResourcePatternType) == x.PatternType
}

// compareBindings orders by resource, then by the rest.
func compareBindings(x, y access.Binding) int {
	return cmp.Or(
		cmp.Compare(x.ResourceType, y.ResourceType), strings.Compare(x.ResourceName, y.ResourceName), cmp.Compare(x.PatternType, y.PatternType),
		strings.Compare(x.Principal, y.Principal), strings.Compare(x.Host, y.Host), cmp.Compare(x.Operation, y.Operation), cmp.Compare(x.Permission, y.Permission),
	)
}

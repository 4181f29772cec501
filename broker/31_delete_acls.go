package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/access"
	"kbench/kafka/admin"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// handleDeleteACLs removes the bindings that each filter matches.
func (p *zkPlane) handleDeleteACLs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DeleteACLsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
	for i := range req.Filters {
		x := kmsg.NewDeleteACLsResponseResult()
		removed, err := p.deleteACLs(ctx, &req.Filters[i])
		x.ErrorCode, x.ErrorMessage = answerOf(err)
		for _, b := range removed {
			x.MatchingACLs = append(x.MatchingACLs, admin.DeletedACL(b))
		}
		resp.Results = append(resp.Results, x)
	}
	return resp, nil
}

// deleteACLs gives the bindings that it removed, of the resources that this
// broker knows.
func (p *zkPlane) deleteACLs(ctx context.Context, wanted *kmsg.DeleteACLsRequestFilter) ([]access.Binding, error) {
	f, err := admin.DeletionFilter(wanted)
	if err != nil {
		return nil, err
	}
	s, err := p.live()
	if err != nil {
		return nil, err
	}
	var resources []zk.ACLResource
	for a := range p.b.Image().Access().ACLs() {
		if res := resourceOf(a.Binding); f.Matches(a.Binding) && !slices.Contains(resources, res) {
			resources = append(resources, res)
		}
	}
	var removed []access.Binding
	for _, res := range resources {
		var gone []access.Binding
		_, err := s.ChangeACLs(ctx, res, func(have []access.Binding) []access.Binding {
			gone = nil
			var left []access.Binding
			for _, b := range have {
				if f.Matches(b) {
					gone = append(gone, b)
				} else {
					left = append(left, b)
				}
			}
			return left
		})
		if err == nil {
			err = p.loadACLs(ctx, s, res)
		}
		if err != nil {
			return removed, err
		}
		removed = append(removed, gone...)
	}
	slices.SortFunc(removed, admin.CompareBindings)
	return removed, nil
}

package refusal

import "github.com/twmb/franz-go/pkg/kmsg"

// entityItems refuses the items of what changes configurations, rights and
// limits, and reports whether body is such a request.
func (r refused) entityItems(body kmsg.Request, kresp kmsg.Response) bool {
	switch resp := kresp.(type) {
	case *kmsg.DescribeConfigsResponse:
		for _, c := range body.(*kmsg.DescribeConfigsRequest).Resources {
			item := kmsg.NewDescribeConfigsResponseResource()
			item.ResourceType, item.ResourceName, item.ErrorCode, item.ErrorMessage = c.ResourceType, c.ResourceName, r.code, r.text
			resp.Resources = append(resp.Resources, item)
		}
	case *kmsg.AlterConfigsResponse:
		for _, c := range body.(*kmsg.AlterConfigsRequest).Resources {
			item := kmsg.NewAlterConfigsResponseResource()
			item.ResourceType, item.ResourceName, item.ErrorCode, item.ErrorMessage = c.ResourceType, c.ResourceName, r.code, r.text
			resp.Resources = append(resp.Resources, item)
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, c := range body.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			item := kmsg.NewIncrementalAlterConfigsResponseResource()
			item.ResourceType, item.ResourceName, item.ErrorCode, item.ErrorMessage = c.ResourceType, c.ResourceName, r.code, r.text
			resp.Resources = append(resp.Resources, item)
		}
	case *kmsg.CreateACLsResponse:
		for range body.(*kmsg.CreateACLsRequest).Creations {
			item := kmsg.NewCreateACLsResponseResult()
			item.ErrorCode, item.ErrorMessage = r.code, r.text
			resp.Results = append(resp.Results, item)
		}
	case *kmsg.DeleteACLsResponse:
		for range body.(*kmsg.DeleteACLsRequest).Filters {
			item := kmsg.NewDeleteACLsResponseResult()
			item.ErrorCode, item.ErrorMessage = r.code, r.text
			resp.Results = append(resp.Results, item)
		}
	case *kmsg.AlterClientQuotasResponse:
		for _, e := range body.(*kmsg.AlterClientQuotasRequest).Entries {
			item := kmsg.NewAlterClientQuotasResponseEntry()
			item.ErrorCode, item.ErrorMessage = r.code, r.text
			for _, part := range e.Entity {
				p := kmsg.NewAlterClientQuotasResponseEntryEntity()
				p.Type, p.Name = part.Type, part.Name
				item.Entity = append(item.Entity, p)
			}
			resp.Entries = append(resp.Entries, item)
		}
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		r.scram(body.(*kmsg.AlterUserSCRAMCredentialsRequest), resp)
	default:
		return false
	}
	return true
}

// scram gives one result for each user, however many changes name it.
func (r refused) scram(req *kmsg.AlterUserSCRAMCredentialsRequest, resp *kmsg.AlterUserSCRAMCredentialsResponse) {
	seen := map[string]bool{}
	add := func(user string) {
		if seen[user] {
			return
		}
		seen[user] = true
		item := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		item.User, item.ErrorCode, item.ErrorMessage = user, r.code, r.text
		resp.Results = append(resp.Results, item)
	}
	for _, d := range req.Deletions {
		add(d.Name)
	}
	for _, u := range req.Upsertions {
		add(u.Name)
	}
}

package machine

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// createACLs decides CreateAcls (30, KIP-801): each binding is added or refused
// by itself, and one that is there already is added again without a record.
func (m *Machine) createACLs(r Request, req *kmsg.CreateACLsRequest) error {
	resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
	have := map[access.Binding]bool{}
	for acl := range m.image().Access().ACLs() {
		have[acl.Binding] = true
	}
	var records []metadata.Record
	for i := range req.Creations {
		answer := kmsg.NewCreateACLsResponseResult()
		b, err := admin.Binding(&req.Creations[i])
		if err == nil {
			err = m.judgeHost(b.Host)
		}
		if answer.ErrorCode, answer.ErrorMessage = told(err); err == nil && !have[b] {
			have[b] = true
			records = append(records, metadata.ACL{ID: m.newID(), Binding: b}.Record())
		}
		resp.Results = append(resp.Results, answer)
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

// judgeHost checks the host of a new ACL, which may be a range of addresses from
// 4.4-IV1 on.
func (m *Machine) judgeHost(host string) error {
	if !access.IsRange(host) {
		return nil
	}
	if !m.version().HasAddressRanges() {
		return admin.Faultf(kafka.UnsupportedVersion, "CIDR-based ACL host patterns require metadata version %s", metadata.V4_4_IV1)
	}
	if err := access.ValidateRange(host); err != nil {
		return admin.Faultf(kafka.InvalidRequest, "Invalid CIDR notation '%.64s': %v", host, err)
	}
	return nil
}

// deleteACLs decides DeleteAcls (31): what any of the filters matches is
// removed, and told to each filter that matches it.
func (m *Machine) deleteACLs(r Request, req *kmsg.DeleteACLsRequest) error {
	resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
	gone := map[kafka.UUID]bool{}
	var records []metadata.Record
	for i := range req.Filters {
		answer := kmsg.NewDeleteACLsResponseResult()
		filter, err := admin.DeletionFilter(&req.Filters[i])
		answer.ErrorCode, answer.ErrorMessage = told(err)
		if err != nil {
			resp.Results = append(resp.Results, answer)
			continue
		}
		for acl := range m.image().Access().ACLs() {
			if !filter.Matches(acl.Binding) {
				continue
			}
			answer.MatchingACLs = append(answer.MatchingACLs, admin.DeletedACL(acl.Binding))
			if !gone[acl.ID] {
				gone[acl.ID] = true
				records = append(records, &metadata.RemoveAccessControlEntryRecord{ID: acl.ID})
			}
		}
		resp.Results = append(resp.Results, answer)
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

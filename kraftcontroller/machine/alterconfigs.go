package machine

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// alterConfigs decides IncrementalAlterConfigs (44, KIP-339). Each resource is
// altered whole or refused; what is as wanted already makes no record.
func (m *Machine) alterConfigs(r Request, req *kmsg.IncrementalAlterConfigsRequest) error {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	var records []metadata.Record
	seen := map[metadata.ConfigResource]bool{}
	for _, res := range req.Resources {
		key := metadata.ConfigResource{Type: metadata.ConfigType(res.ResourceType), Name: res.ResourceName}
		err := m.judgeOnce(seen, key)
		if err == nil {
			var altered []metadata.Record
			if altered, err = m.alterResource(key, res.Configs); err == nil {
				records = append(records, altered...)
			}
		}
		resp.Resources = append(resp.Resources, alterConfigsAnswer(res, err))
	}
	_, err := m.carryOut(r, atomicOf(m.ifReal(req.ValidateOnly, records), resp))
	return err
}

func alterConfigsAnswer(res kmsg.IncrementalAlterConfigsRequestResource, err error) kmsg.IncrementalAlterConfigsResponseResource {
	a := kmsg.NewIncrementalAlterConfigsResponseResource()
	a.ResourceType, a.ResourceName = res.ResourceType, res.ResourceName
	a.ErrorCode, a.ErrorMessage = told(err)
	return a
}

// ifReal gives the records with what follows from them, or none where the
// request only asks whether it may.
func (m *Machine) ifReal(validateOnly bool, records []metadata.Record) []metadata.Record {
	if validateOnly {
		return nil
	}
	return m.clearingELR(records)
}

// judgeOnce checks that a resource is there, and once in the request.
func (m *Machine) judgeOnce(seen map[metadata.ConfigResource]bool, res metadata.ConfigResource) error {
	if seen[res] {
		return admin.Faultf(kafka.InvalidRequest, "Each resource must appear at most once.")
	}
	seen[res] = true
	return m.judgeResource(res)
}

func (m *Machine) alterResource(res metadata.ConfigResource, configs []kmsg.IncrementalAlterConfigsRequestResourceConfig) ([]metadata.Record, error) {
	current := m.image().Config(res)
	seen := map[string]bool{}
	var records []metadata.Record
	for i := range configs {
		c := &configs[i]
		if seen[c.Name] {
			return nil, admin.Faultf(kafka.InvalidRequest, "Error due to duplicate config keys: %s", c.Name)
		}
		seen[c.Name] = true
		value, err := admin.AlteredConfig(c, current[c.Name], isList(res.Type, c.Name))
		if err != nil {
			return nil, err
		}
		record, err := m.configRecord(res, c.Name, value)
		if err != nil {
			return nil, err
		}
		if record != nil {
			records = append(records, record)
		}
	}
	return records, m.judgeWhole(res, records)
}

// isList reports whether items can be added to and taken from a configuration, which
// Kafka's controller knows of those of topics and brokers alone.
func isList(t metadata.ConfigType, name string) bool {
	return t == metadata.TopicConfig && admin.TopicConfigs.IsList(name) || t == metadata.BrokerConfig && admin.IsListBrokerConfig(name)
}

// replaceConfigs decides AlterConfigs (33), which replaces all that a resource
// has: what is not named goes.
func (m *Machine) replaceConfigs(r Request, req *kmsg.AlterConfigsRequest) error {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	var records []metadata.Record
	seen := map[metadata.ConfigResource]bool{}
	for _, res := range req.Resources {
		key := metadata.ConfigResource{Type: metadata.ConfigType(res.ResourceType), Name: res.ResourceName}
		err := m.judgeOnce(seen, key)
		if err == nil {
			var altered []metadata.Record
			if altered, err = m.replaceResource(key, res.Configs); err == nil {
				records = append(records, altered...)
			}
		}
		resp.Resources = append(resp.Resources, replaceConfigsAnswer(res, err))
	}
	_, err := m.carryOut(r, atomicOf(m.ifReal(req.ValidateOnly, records), resp))
	return err
}

func replaceConfigsAnswer(res kmsg.AlterConfigsRequestResource, err error) kmsg.AlterConfigsResponseResource {
	a := kmsg.NewAlterConfigsResponseResource()
	a.ResourceType, a.ResourceName = res.ResourceType, res.ResourceName
	a.ErrorCode, a.ErrorMessage = told(err)
	return a
}

func (m *Machine) replaceResource(res metadata.ConfigResource, configs []kmsg.AlterConfigsRequestResourceConfig) ([]metadata.Record, error) {
	wanted := map[string]*string{}
	for name := range m.image().Config(res) {
		wanted[name] = nil
	}
	seen := map[string]bool{}
	for _, c := range configs {
		switch {
		case seen[c.Name]:
			return nil, admin.Faultf(kafka.InvalidRequest, "Error due to duplicate config keys: %s", c.Name)
		case c.Value == nil:
			return nil, admin.Faultf(kafka.InvalidRequest, "Null value not supported for : %s", c.Name)
		}
		seen[c.Name] = true
		wanted[c.Name] = c.Value
	}
	var records []metadata.Record
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		record, err := m.configRecord(res, name, wanted[name])
		if err != nil {
			return nil, err
		}
		if record != nil {
			records = append(records, record)
		}
	}
	return records, m.judgeWhole(res, records)
}

package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"kbench/kafka/access"
	"kbench/kafka/metadata"
	"kbench/zkcontroller/zk"
)

// What ZooKeeper holds of ACLs, SCRAM credentials, quotas and delegation tokens
// is the truth; each broker has a copy of it in its image, loaded when its
// session begins and read anew where a notification says so.

// queues makes the notifications that a broker follows.
func (p *zkPlane) queues() []*notifications {
	return []*notifications{
		{path: zk.ConfigChangesPath, handle: p.configChanged},
		{path: zk.ACLChangesPath, handle: func(ctx context.Context, s *zk.Session, data []byte) error {
			r, err := zk.DecodeACLChange(data)
			if err != nil {
				return err
			}
			return p.loadACLs(ctx, s, r)
		}},
		{path: zk.PrefixChangesPath, handle: func(ctx context.Context, s *zk.Session, data []byte) error {
			r, err := zk.DecodePrefixChange(data)
			if err != nil {
				return err
			}
			return p.loadACLs(ctx, s, r)
		}},
		{path: zk.TokenChangesPath, handle: func(ctx context.Context, s *zk.Session, data []byte) error {
			return p.loadToken(ctx, s, string(data))
		}},
	}
}

// changeAccess publishes an image with what f changes of access and quotas.
func (p *zkPlane) changeAccess(f func(d *metadata.Delta) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	base := p.b.Image()
	d := metadata.NewDelta(base)
	err := f(d)
	if d.AccessChanged() {
		p.b.publish(d.Apply(base.Offset(), base.Epoch()))
	}
	return err
}

// loadAccess reads all of it.
func (p *zkPlane) loadAccess(ctx context.Context, s *zk.Session) error {
	bindings, err := s.AllACLs(ctx)
	if err != nil {
		return err
	}
	found, err := s.Tokens(ctx)
	if err != nil {
		return err
	}
	entities, err := s.Entities(ctx)
	if err != nil {
		return err
	}
	return p.changeAccess(func(d *metadata.Delta) error {
		all := func(access.Binding) bool { return true }
		errs := []error{syncACLs(d, bindings, all), syncTokens(d, found)}
		known := map[string]bool{}
		for e := range entities {
			known[e] = true
		}
		for c := range d.Image().Access().Scrams() {
			known[zk.UserConfigs+"/"+zk.Sanitize(c.User)] = true
		}
		for e := range d.Image().Access().Quotas() {
			known[quotaPath(e)] = true
		}
		for e := range known {
			errs = append(errs, syncEntity(d, e, entities[e]))
		}
		return errors.Join(errs...)
	})
}

func (p *zkPlane) loadACLs(ctx context.Context, s *zk.Session, r zk.ACLResource) error {
	bindings, err := s.ACLs(ctx, r)
	if err != nil {
		return err
	}
	return p.changeAccess(func(d *metadata.Delta) error {
		return syncACLs(d, bindings, func(b access.Binding) bool {
			return b.ResourceType == r.Type && b.ResourceName == r.Name && b.PatternType == r.Pattern
		})
	})
}

func (p *zkPlane) loadToken(ctx context.Context, s *zk.Session, id string) error {
	t, found, err := s.Token(ctx, id)
	if err != nil {
		return err
	}
	return p.changeAccess(func(d *metadata.Delta) error {
		if found {
			return putToken(d, t)
		}
		return d.Replay(&metadata.RemoveDelegationTokenRecord{TokenID: id})
	})
}

// configChanged reads the configuration of users, clients and addresses anew,
// and forgets that of a topic.
func (p *zkPlane) configChanged(ctx context.Context, s *zk.Session, data []byte) error {
	entity, err := zk.DecodeConfigChange(data)
	if err != nil {
		return err
	}
	kind, name, _ := strings.Cut(entity, "/")
	switch kind {
	case zk.TopicConfigs:
		p.topicConfigs.drop(name)
		return nil
	case zk.UserConfigs, zk.ClientConfigs, zk.IPConfigs:
		return p.loadEntity(ctx, s, entity)
	}
	return nil
}

func (p *zkPlane) loadEntity(ctx context.Context, s *zk.Session, entity string) error {
	kind, name, _ := strings.Cut(entity, "/")
	values, err := s.ReadConfig(ctx, kind, name)
	if err != nil {
		return err
	}
	return p.changeAccess(func(d *metadata.Delta) error { return syncEntity(d, entity, values) })
}

// quotaKeys are the configurations that are quotas, and whether they are whole
// numbers in the znode.
var quotaKeys = map[string]bool{
	"producer_byte_rate": true, "consumer_byte_rate": true, "request_percentage": false,
	"controller_mutation_rate": false, "connection_creation_rate": true,
}

// entityOf gives whom the quotas of an entity path are for: users/u,
// users/u/clients/c, clients/c or ips/i, where <default> stands for all others.
func entityOf(path string) (metadata.QuotaEntity, error) {
	types := map[string]string{zk.UserConfigs: "user", zk.ClientConfigs: "client-id", zk.IPConfigs: "ip"}
	fields := strings.Split(path, "/")
	var parts []metadata.QuotaPart
	for i := 0; i+1 < len(fields); i += 2 {
		part := metadata.QuotaPart{Type: types[fields[i]], Default: fields[i+1] == zk.DefaultEntity}
		if part.Type == "" {
			return nil, fmt.Errorf("configuration of %s is of no user, client or address", path)
		}
		if !part.Default {
			var err error
			if part.Name, err = zk.Desanitize(fields[i+1]); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	if len(fields)%2 != 0 || len(parts) == 0 {
		return nil, fmt.Errorf("%s is not the path of a user, client or address", path)
	}
	return metadata.NewQuotaEntity(parts), nil
}

// quotaPath is the opposite of entityOf.
func quotaPath(e metadata.QuotaEntity) string {
	name := map[string]string{}
	for _, p := range e {
		name[p.Type] = zk.DefaultEntity
		if !p.Default {
			name[p.Type] = zk.Sanitize(p.Name)
		}
	}
	user, hasUser := name["user"]
	client, hasClient := name["client-id"]
	switch {
	case hasUser && hasClient:
		return zk.UserConfigs + "/" + user + "/" + zk.ClientConfigs + "/" + client
	case hasUser:
		return zk.UserConfigs + "/" + user
	case hasClient:
		return zk.ClientConfigs + "/" + client
	}
	return zk.IPConfigs + "/" + name["ip"]
}

// syncEntity makes what the image has of an entity what its configuration says.
// Values that cannot be read count as not set.
func syncEntity(d *metadata.Delta, path string, values map[string]string) error {
	entity, err := entityOf(path)
	if err != nil {
		return err
	}
	quotas := map[string]float64{}
	for key := range quotaKeys {
		if v, err := strconv.ParseFloat(values[key], 64); err == nil {
			quotas[key] = v
		}
	}
	errs := []error{syncQuotas(d, entity, quotas)}
	if len(entity) == 1 && entity[0].Type == "user" && !entity[0].Default {
		for _, m := range access.Mechanisms() {
			errs = append(errs, syncScram(d, entity[0].Name, m, values[m.String()]))
		}
	}
	return errors.Join(errs...)
}

func syncQuotas(d *metadata.Delta, entity metadata.QuotaEntity, want map[string]float64) error {
	have := maps.Clone(d.Image().Access().Quota(entity))
	var parts []metadata.RecordQuotaEntity
	for _, p := range entity {
		r := metadata.RecordQuotaEntity{Type: p.Type}
		if !p.Default {
			name := p.Name
			r.Name = &name
		}
		parts = append(parts, r)
	}
	for key := range have {
		if _, keep := want[key]; !keep {
			if err := d.Replay(&metadata.ClientQuotaRecord{Entity: parts, Name: key, Remove: true}); err != nil {
				return err
			}
		}
	}
	for key, v := range want {
		if old, ok := have[key]; ok && old == v {
			continue
		}
		if err := d.Replay(&metadata.ClientQuotaRecord{Entity: parts, Name: key, Value: v}); err != nil {
			return err
		}
	}
	return nil
}

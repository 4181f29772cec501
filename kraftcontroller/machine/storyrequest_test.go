package machine

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
)

// storyDir names a directory of a broker as registration does.
func storyDir(broker int32, dir int) [16]byte {
	return [16]byte{15: 200, 14: byte(broker), 13: byte(dir)}
}

func storyDirs(broker int32, d *datadriven.TestData, key string) [][16]byte {
	dirs := [][16]byte{}
	for _, n := range numbers(arg(d, key, "")) {
		dirs = append(dirs, storyDir(broker, int(n)))
	}
	return dirs
}

// storyAdmin reads the requests about access, quotas and tokens.
func storyAdmin(w *world, d *datadriven.TestData) kmsg.Request {
	life := int64(number(arg(d, "life", "-1")))
	switch d.Cmd {
	case "create-acls":
		return storyCreateACLs(d)
	case "delete-acls":
		return storyDeleteACLs(d)
	case "alter-quotas":
		return storyQuotas(d)
	case "alter-scram":
		return storyScram(d)
	case "create-token":
		r := kmsg.NewPtrCreateDelegationTokenRequest()
		r.Version, r.MaxLifetimeMillis = 3, life
		if kind, name, ok := strings.Cut(arg(d, "owner", ""), ":"); ok {
			r.OwnerPrincipalType, r.OwnerPrincipalName = &kind, &name
		}
		if kind, name, ok := strings.Cut(arg(d, "renewer", ""), ":"); ok {
			r.Renewers = append(r.Renewers, kmsg.CreateDelegationTokenRequestRenewer{PrincipalType: kind, PrincipalName: name})
		}
		return r
	case "renew-token":
		r := kmsg.NewPtrRenewDelegationTokenRequest()
		r.Version, r.HMAC, r.RenewTimeMillis = 2, w.hmac, life
		return r
	case "expire-token":
		r := kmsg.NewPtrExpireDelegationTokenRequest()
		r.Version, r.HMAC, r.ExpiryPeriodMillis = 2, w.hmac, life
		return r
	}
	r := kmsg.NewPtrAlterConfigsRequest()
	r.Version, r.ValidateOnly = 2, flag(d, "validate")
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		res := kmsg.NewAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceType(number(f[0])), strings.Trim(f[1], `"`)
		for _, kv := range f[2:] {
			c := kmsg.NewAlterConfigsRequestResourceConfig()
			if k, v, ok := strings.Cut(kv, "="); ok {
				c.Name, c.Value = k, &v
			} else {
				c.Name = kv
			}
			res.Configs = append(res.Configs, c)
		}
		r.Resources = append(r.Resources, res)
	}
	return r
}

func orAny(s string) *string {
	if s == "-" {
		return nil
	}
	return &s
}

// storyACL reads the numbers of a line; - is Any, and a name that is none 0.
func storyACL(f []string) (t access.ResourceType, p access.PatternType, o access.Operation, a access.Permission) {
	t, _ = access.ParseResourceType(strings.ReplaceAll(f[0], "-", "Any"))
	p, _ = access.ParsePatternType(strings.ReplaceAll(f[2], "-", "Any"))
	o, _ = access.ParseOperation(strings.ReplaceAll(f[5], "-", "Any"))
	a, _ = access.ParsePermission(strings.ReplaceAll(f[6], "-", "Any"))
	return t, p, o, a
}

func storyCreateACLs(d *datadriven.TestData) kmsg.Request {
	r := kmsg.NewPtrCreateACLsRequest()
	r.Version = 3
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		t, p, o, a := storyACL(f)
		r.Creations = append(r.Creations, kmsg.CreateACLsRequestCreation{
			ResourceType: kmsg.ACLResourceType(t), ResourceName: f[1], ResourcePatternType: kmsg.ACLResourcePatternType(p),
			Principal: f[3], Host: f[4], Operation: kmsg.ACLOperation(o), PermissionType: kmsg.ACLPermissionType(a),
		})
	}
	return r
}

func storyDeleteACLs(d *datadriven.TestData) kmsg.Request {
	r := kmsg.NewPtrDeleteACLsRequest()
	r.Version = 3
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		t, p, o, a := storyACL(f)
		r.Filters = append(r.Filters, kmsg.DeleteACLsRequestFilter{
			ResourceType: kmsg.ACLResourceType(t), ResourceName: orAny(f[1]), ResourcePatternType: kmsg.ACLResourcePatternType(p),
			Principal: orAny(f[3]), Host: orAny(f[4]), Operation: kmsg.ACLOperation(o), PermissionType: kmsg.ACLPermissionType(a),
		})
	}
	return r
}

func storyQuotas(d *datadriven.TestData) kmsg.Request {
	r := kmsg.NewPtrAlterClientQuotasRequest()
	r.Version, r.ValidateOnly = 1, flag(d, "validate")
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		e := kmsg.NewAlterClientQuotasRequestEntry()
		for _, part := range strings.Split(f[0], ",") {
			kind, name, _ := strings.Cut(part, "=")
			x := kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: &name}
			if name == "<default>" {
				x.Name = nil
			}
			e.Entity = append(e.Entity, x)
		}
		for _, op := range f[1:] {
			if key, ok := strings.CutSuffix(op, "-"); ok {
				e.Ops = append(e.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Remove: true})
				continue
			}
			key, value, _ := strings.Cut(op, "=")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				panic(err)
			}
			e.Ops = append(e.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: v})
		}
		r.Entries = append(r.Entries, e)
	}
	return r
}

func storyScram(d *datadriven.TestData) kmsg.Request {
	r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		user, mechanism := strings.Trim(f[1], `"`), int8(number(f[2]))
		if f[0] == "delete" {
			r.Deletions = append(r.Deletions, kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: user, Mechanism: mechanism})
			continue
		}
		r.Upsertions = append(r.Upsertions, kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
			Name: user, Mechanism: mechanism, Iterations: int32(number(f[3])), Salt: []byte("salt"), SaltedPassword: []byte("salted"),
		})
	}
	return r
}

func storyFeatures(d *datadriven.TestData) kmsg.Request {
	r := kmsg.NewPtrUpdateFeaturesRequest()
	r.Version, r.ValidateOnly = int16(number(arg(d, "version", "2"))), flag(d, "validate")
	hows := map[string]int8{"upgrade": upgradeFeature, "safe": safeDowngradeFeature, "unsafe": unsafeDowngradeFeature}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType, u.AllowDowngrade = f[0], int16(number(f[1])), hows[f[2]], f[2] == "safe"
		r.FeatureUpdates = append(r.FeatureUpdates, u)
	}
	return r
}

func storyAssign(w *world, d *datadriven.TestData, broker int32, epoch int64) kmsg.Request {
	r := kmsg.NewPtrAssignReplicasToDirsRequest()
	r.BrokerID, r.BrokerEpoch = broker, epoch
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		tp := storyPartition(f[0])
		topic := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
		topic.TopicID = [16]byte{9}
		if t, ok := w.m.Working().Topic(tp.Topic); ok {
			topic.TopicID = t.ID()
		}
		topic.Partitions = append(topic.Partitions, kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{Partition: tp.Partition})
		id := [16]byte(metadata.LostDirectory)
		if f[1] != "lost" {
			id = storyDir(broker, number(f[1]))
		}
		r.Directories = append(r.Directories, kmsg.AssignReplicasToDirsRequestDirectory{ID: id, Topics: []kmsg.AssignReplicasToDirsRequestDirectoryTopic{topic}})
	}
	return r
}

// describeDirs gives the directories of a partition as registration numbers
// them.
func describeDirs(p *metadata.Partition) string {
	var parts []string
	for i, id := range p.Replicas {
		switch dir := p.Directory(id); {
		case dir == metadata.UnassignedDirectory:
			parts = append(parts, "unassigned")
		case dir == metadata.MigratingDirectory:
			parts = append(parts, "migrating")
		case dir == metadata.LostDirectory:
			parts = append(parts, "lost")
		case kafka.BrokerID(dir[14]) == p.Replicas[i]:
			parts = append(parts, strconv.Itoa(int(dir[13])))
		default:
			parts = append(parts, "?")
		}
	}
	return strings.Join(parts, ",")
}

package machine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

const testCluster = "cluster"

// world is a machine with the log that its shell would keep.
type world struct {
	m     *Machine
	now   time.Duration
	log   []logged // by offset
	done  kafka.Offset
	ids   uint64
	epoch kafka.LeaderEpoch
	out   Effects // of the last step
	err   error

	principal, clientID string // of the next request
	hmac                []byte // of the token created last
}

type logged struct {
	epoch   kafka.LeaderEpoch
	control bool
	value   []byte
	end     bool // ends a batch
}

func newWorld(cfg Config) *world {
	if cfg.Rand == nil {
		cfg.Rand = rand.New(rand.NewPCG(1, 2))
	}
	cfg.ClusterID = testCluster
	m, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return &world{m: m, done: kafka.NoOffset}
}

// step steps the machine and keeps what it appends.
func (w *world) step(in Input) Effects {
	w.out, w.err = w.m.Step(w.now, in)
	for _, a := range w.out.Appends {
		if int(a.BaseOffset) != len(w.log) {
			w.err = fmt.Errorf("append at %d, the log ends at %d", a.BaseOffset, len(w.log))
		}
		for i, v := range a.Values {
			w.log = append(w.log, logged{w.epoch, false, v, i == len(a.Values)-1})
		}
	}
	return w.out
}

// lead appends a leader change and claims.
func (w *world) lead(epoch kafka.LeaderEpoch) Effects {
	w.epoch = epoch
	w.log = append(w.log, logged{epoch: epoch, control: true, end: true})
	return w.step(Claim{Epoch: epoch, NextOffset: kafka.Offset(len(w.log))})
}

func (w *world) request(body kmsg.Request) Effects {
	w.ids++
	return w.step(Request{ID: w.ids, Body: body, Principal: w.principal, ClientID: w.clientID})
}

// commit commits up to an offset, by batches, and gathers the effects.
func (w *world) commit(last kafka.Offset) Effects {
	var all Effects
	for w.done < last && w.err == nil {
		in := Committed{BaseOffset: w.done + 1, Epoch: w.log[w.done+1].epoch, Control: w.log[w.done+1].control}
		for {
			w.done++
			in.Values = append(in.Values, w.log[w.done].value)
			if w.log[w.done].end {
				break
			}
		}
		e := w.step(in)
		all.Responses = append(all.Responses, e.Responses...)
		all.Events = append(all.Events, e.Events...)
		all.Deadline = e.Deadline
	}
	w.out = all
	return all
}

func (w *world) commitAll() Effects { return w.commit(kafka.Offset(len(w.log)) - 1) }

// ask sends a request, commits all and gives the answer.
func ask[R kmsg.Response](t testing.TB, w *world, body kmsg.Request) R {
	t.Helper()
	rs := w.request(body).Responses
	rs = append(rs, w.commitAll().Responses...)
	if w.err != nil || len(rs) != 1 || rs[0].ID != w.ids {
		t.Fatalf("%T: %d answers, %v", body, len(rs), w.err)
	}
	return rs[0].Body.(R)
}

func registration(id int32, incarnation byte) *kmsg.BrokerRegistrationRequest {
	r := kmsg.NewPtrBrokerRegistrationRequest()
	r.Version, r.BrokerID, r.ClusterID, r.IncarnationID = 4, id, testCluster, [16]byte{incarnation}
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", "localhost", 9092
	r.Listeners = append(r.Listeners, l)
	f := kmsg.NewBrokerRegistrationRequestFeature()
	f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = metadata.MetadataVersionFeature, 7, 33
	r.Features = append(r.Features, f)
	f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = metadata.ELRVersionFeature, 0, 1
	r.Features = append(r.Features, f)
	r.LogDirs = [][16]byte{{15: 200, 14: byte(id)}}
	return r
}

func (w *world) beat(id int32, offset kafka.Offset) *kmsg.BrokerHeartbeatRequest {
	r := kmsg.NewPtrBrokerHeartbeatRequest()
	r.Version, r.BrokerID, r.CurrentMetadataOffset = 1, id, int64(offset)
	if b, ok := w.m.Working().Broker(kafka.BrokerID(id)); ok {
		r.BrokerEpoch = int64(b.Epoch)
	}
	return r
}

func newTopic(name string, partitions int32, factor int16) *kmsg.CreateTopicsRequest {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version = 7
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	r.Topics = append(r.Topics, t)
	return r
}

// up leads and brings n brokers to be active.
func (w *world) up(t testing.TB, n int) {
	t.Helper()
	w.lead(1)
	w.commitAll()
	for id := range int32(n) {
		if r := ask[*kmsg.BrokerRegistrationResponse](t, w, registration(id, byte(id+1))); r.ErrorCode != 0 {
			t.Fatalf("broker %d: %v", id, kafka.ErrorCode(r.ErrorCode))
		}
		if r := ask[*kmsg.BrokerHeartbeatResponse](t, w, w.beat(id, w.done)); r.ErrorCode != 0 || r.IsFenced {
			t.Fatalf("broker %d: %v, fenced=%v", id, kafka.ErrorCode(r.ErrorCode), r.IsFenced)
		}
	}
}

// describeRecord gives a record's type and the fields that say something.
func describeRecord(r metadata.Record) string {
	v := reflect.ValueOf(r).Elem()
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(v.Type().Name(), "Record"))
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		switch name {
		case "Tags", "EndPoints", "Features", "LogDirs", "Directories", "TopicID", "IncarnationID", "ID", "TokenID", "StoredKey", "ServerKey":
			continue
		case "Leader":
			if f.Int() == int64(metadata.LeaderUnchanged) {
				continue
			}
		case "LeaderRecoveryState":
			unchanged := int64(0)
			if _, ok := r.(*metadata.PartitionChangeRecord); ok {
				unchanged = int64(metadata.RecoveryStateUnchanged)
			}
			if f.Int() == unchanged {
				continue
			}
		case "PartitionID", "LeaderEpoch", "PartitionEpoch", "BrokerID":
		default:
			if f.IsZero() {
				continue
			}
		}
		if f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if parts, ok := f.Interface().([]metadata.RecordQuotaEntity); ok {
			for _, p := range parts {
				kind := "<default>"
				if p.Name != nil {
					kind = *p.Name
				}
				fmt.Fprintf(&b, " %s=%s", p.Type, kind)
			}
			continue
		}
		if b, ok := f.Interface().([]byte); ok {
			f = reflect.ValueOf(string(b))
		}
		fmt.Fprintf(&b, " %s=%v", name, f.Interface())
	}
	return b.String()
}

func describeImage(image *metadata.Image) string {
	var b strings.Builder
	for broker := range image.Brokers() {
		fmt.Fprintf(&b, "broker %d epoch=%d fenced=%v", broker.ID, broker.Epoch, broker.Fenced)
		if broker.InControlledShutdown {
			b.WriteString(" in-controlled-shutdown")
		}
		b.WriteByte('\n')
	}
	for tp, p := range image.Partitions() {
		fmt.Fprintf(&b, "%v %v", tp, p)
		if p.Directories != nil && describeDirs(p) != strings.Repeat(",0", len(p.Replicas))[1:] {
			fmt.Fprintf(&b, " dirs=%s", describeDirs(p))
		}
		b.WriteByte('\n')
	}
	for r, values := range image.Configs() {
		for _, k := range slices.Sorted(keys(values)) {
			fmt.Fprintf(&b, "config %d %q %s=%s\n", r.Type, r.Name, k, values[k])
		}
	}
	for name, level := range image.Features() {
		if name != metadata.MetadataVersionFeature {
			fmt.Fprintf(&b, "feature %s=%d\n", name, level)
		}
	}
	if b.Len() == 0 {
		return "empty\n"
	}
	return b.String()
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func describeResponse(r kmsg.Response) string {
	code := func(c int16, message *string) string {
		s := kafka.ErrorCode(c).String()
		if message != nil && *message != "" {
			s += " (" + *message + ")"
		}
		return s
	}
	var b strings.Builder
	if t, ok := r.(kmsg.ThrottleResponse); ok {
		if ms, _ := t.Throttle(); ms != 0 {
			fmt.Fprintf(&b, "wait %d ms: ", ms)
		}
	}
	switch r := r.(type) {
	case *kmsg.BrokerRegistrationResponse:
		fmt.Fprintf(&b, "register %s epoch=%d", code(r.ErrorCode, nil), r.BrokerEpoch)
	case *kmsg.BrokerHeartbeatResponse:
		fmt.Fprintf(&b, "heartbeat %s caught-up=%v fenced=%v shut-down=%v", code(r.ErrorCode, nil), r.IsCaughtUp, r.IsFenced, r.ShouldShutdown)
	case *kmsg.CreateTopicsResponse:
		b.WriteString("create-topics")
		for _, t := range r.Topics {
			fmt.Fprintf(&b, " %.40s %s", t.Topic, code(t.ErrorCode, t.ErrorMessage))
			if t.ErrorCode == 0 {
				fmt.Fprintf(&b, " partitions=%d factor=%d", t.NumPartitions, t.ReplicationFactor)
			}
		}
	case *kmsg.DeleteTopicsResponse:
		b.WriteString("delete-topics")
		for _, t := range r.Topics {
			name := "?"
			if t.Topic != nil {
				name = *t.Topic
			}
			fmt.Fprintf(&b, " %s %s", name, code(t.ErrorCode, t.ErrorMessage))
		}
	case *kmsg.CreatePartitionsResponse:
		b.WriteString("create-partitions")
		for _, t := range r.Topics {
			fmt.Fprintf(&b, " %s %s", t.Topic, code(t.ErrorCode, t.ErrorMessage))
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		b.WriteString("alter-configs")
		for _, t := range r.Resources {
			fmt.Fprintf(&b, " %s %s", t.ResourceName, code(t.ErrorCode, t.ErrorMessage))
		}
	case *kmsg.AlterPartitionResponse:
		fmt.Fprintf(&b, "alter-partition %s", code(r.ErrorCode, nil))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %d %s leader=%d epoch=%d/%d isr=%v", p.Partition, code(p.ErrorCode, nil), p.LeaderID, p.LeaderEpoch, p.PartitionEpoch, p.ISR)
			}
		}
	case *kmsg.ElectLeadersResponse:
		fmt.Fprintf(&b, "elect-leaders %s", code(r.ErrorCode, nil))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode, nil))
			}
		}
	case *kmsg.AlterPartitionAssignmentsResponse:
		fmt.Fprintf(&b, "reassign %s", code(r.ErrorCode, r.ErrorMessage))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode, p.ErrorMessage))
			}
		}
	case *kmsg.ListPartitionReassignmentsResponse:
		fmt.Fprintf(&b, "reassignments %s", code(r.ErrorCode, r.ErrorMessage))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d replicas=%v adding=%v removing=%v", t.Topic, p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas)
			}
		}
	case *kmsg.AlterConfigsResponse:
		b.WriteString("replace-configs")
		for _, t := range r.Resources {
			fmt.Fprintf(&b, " %s %s", t.ResourceName, code(t.ErrorCode, t.ErrorMessage))
		}
	case *kmsg.CreateACLsResponse:
		b.WriteString("create-acls")
		for _, a := range r.Results {
			fmt.Fprintf(&b, "\n  %s", code(a.ErrorCode, a.ErrorMessage))
		}
	case *kmsg.DeleteACLsResponse:
		b.WriteString("delete-acls")
		for _, f := range r.Results {
			fmt.Fprintf(&b, "\n  %s", code(f.ErrorCode, f.ErrorMessage))
			for _, a := range f.MatchingACLs {
				fmt.Fprintf(&b, " %s:%s/%s", a.ResourceName, a.Principal, a.Operation)
			}
		}
	case *kmsg.AlterClientQuotasResponse:
		b.WriteString("alter-quotas")
		for _, e := range r.Entries {
			fmt.Fprintf(&b, "\n  %s", code(e.ErrorCode, e.ErrorMessage))
		}
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		b.WriteString("alter-scram")
		for _, u := range r.Results {
			fmt.Fprintf(&b, "\n  %q %s", u.User, code(u.ErrorCode, u.ErrorMessage))
		}
	case *kmsg.CreateDelegationTokenResponse:
		fmt.Fprintf(&b, "create-token %s owner=%s:%s requester=%s:%s issued=%d expires=%d max=%d", code(r.ErrorCode, nil),
			r.PrincipalType, r.PrincipalName, r.TokenRequesterPrincipalType, r.TokenRequesterPrincipalName, r.IssueTimestamp, r.ExpiryTimestamp, r.MaxTimestamp)
	case *kmsg.RenewDelegationTokenResponse:
		fmt.Fprintf(&b, "renew-token %s expires=%d", code(r.ErrorCode, nil), r.ExpiryTimestamp)
	case *kmsg.ExpireDelegationTokenResponse:
		fmt.Fprintf(&b, "expire-token %s expires=%d", code(r.ErrorCode, nil), r.ExpiryTimestamp)
	case *kmsg.UpdateFeaturesResponse:
		fmt.Fprintf(&b, "update-features %s", code(r.ErrorCode, r.ErrorMessage))
	case *kmsg.AssignReplicasToDirsResponse:
		fmt.Fprintf(&b, "assign-dirs %s", code(r.ErrorCode, nil))
		for _, dir := range r.Directories {
			for _, t := range dir.Topics {
				for _, p := range t.Partitions {
					fmt.Fprintf(&b, " %d %s", p.Partition, code(p.ErrorCode, nil))
				}
			}
		}
	case *kmsg.UnregisterControllerResponse:
		fmt.Fprintf(&b, "unregister-controller %s", code(r.ErrorCode, r.ErrorMessage))
	case *kmsg.AllocateProducerIDsResponse:
		fmt.Fprintf(&b, "producer-ids %s start=%d len=%d", code(r.ErrorCode, nil), r.ProducerIDStart, r.ProducerIDLen)
	case *kmsg.UnregisterBrokerResponse:
		fmt.Fprintf(&b, "unregister %s", code(r.ErrorCode, r.ErrorMessage))
	case *kmsg.ControllerRegistrationResponse:
		fmt.Fprintf(&b, "register-controller %s", code(r.ErrorCode, r.ErrorMessage))
	default:
		fmt.Fprintf(&b, "%T", r)
	}
	return b.String()
}

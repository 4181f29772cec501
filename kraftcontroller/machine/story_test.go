package machine

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// TestStories tells stories of a controller; the golden files hold all that
// it appended, answered and told. Each directive is one step at the world's
// time, or some:
//
//	new [session=9s] [noop=500ms] [balance=0s] [unclean=0s] [records=10000] [level=25] [secret=S]
//	lead epoch=N            append a leader change and claim
//	up brokers=N            lead epoch 1, register brokers 0 to N-1, unfence them, commit
//	renounce [truncate]     and forget what is not committed in the log
//	register broker=N incarnation=N [cluster=ID] [max=33] [dirs=1] [rack=R] [previous=EPOCH]
//	heartbeat broker=N [epoch=N] [offset=N] [fence] [shutdown] [offline=(D,D)] [cordoned=(D,D)]
//	create-topics [validate] [version=7]  lines: NAME PARTITIONS FACTOR [key=value ...]
//	                             or NAME [1,2] [2,3] ... for an assignment
//	delete-topics [version=6]    lines: NAME, or @NAME by the id of NAME
//	create-partitions [validate] [version=3]  lines: NAME COUNT [[1,2] ...]
//	alter-partition broker=N [version=3] [epoch=N]
//	                             lines: NAME-P leader-epoch=N epoch=N isr=1,2 [recovering] [broker-epochs=1,2]
//	alter-configs                lines: TYPE NAME set|delete|append|subtract KEY [VALUE]
//	elect-leaders [unclean]      lines: NAME-P; none for all
//	reassign [fixed-factor]      lines: NAME-P [1,2], or NAME-P cancel
//	list-reassignments           lines: NAME-P; none for all
//	create-acls | delete-acls    lines: TYPE NAME PATTERN PRINCIPAL HOST OPERATION PERMISSION, - for any
//	alter-quotas [validate]      lines: ENTITY KEY=VALUE|KEY-; ENTITY is user=a,client-id= with "" for the default
//	alter-scram                  lines: set|delete USER MECHANISM [ITERATIONS]
//	create-token | renew-token | expire-token [as=PRINCIPAL] [owner=TYPE:NAME] [renewer=TYPE:NAME] [life=MS]
//	                             of the token that was created last
//	replace-configs [validate]   lines: TYPE NAME [KEY=VALUE ...]
//	update-features [validate]   lines: FEATURE LEVEL upgrade|safe|unsafe
//	assign-dirs broker=N [epoch=N]  lines: NAME-P DIR; DIR is that of register, from 0
//	register-controller | unregister-controller broker=N [max=33]
//	voters ids=(N,N)
//	producer-ids broker=N [epoch=N]
//	unregister broker=N
//	                             each with [as=PRINCIPAL] [client=ID] of who asks
//	commit [to=N]           tell the machine that the log is stable
//	advance by=DURATION [ticks]   with ticks, tick at each deadline on the way
//	tick
//	image                   what is stable, and what is not where it differs
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				w = newWorld(storyConfig(d))
				return "ok\n"
			}
			return tell(t, w, d)
		})
	})
}

func storyConfig(d *datadriven.TestData) Config {
	duration := func(key string) time.Duration {
		v, err := time.ParseDuration(arg(d, key, "0s"))
		if err != nil {
			panic(err)
		}
		return v
	}
	return Config{
		SessionTimeout: duration("session"), NoOpInterval: duration("noop"), LeaderBalanceInterval: duration("balance"),
		UncleanElectionInterval: duration("unclean"), MaxRecords: number(arg(d, "records", "0")),
		MetadataVersion: metadata.MetadataVersion(number(arg(d, "level", "0"))), TokenSecret: arg(d, "secret", ""), StartMs: 1_000_000_000,
	}
}

func arg(d *datadriven.TestData, key, otherwise string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return strings.Join(a.Vals, ",")
		}
	}
	return otherwise
}

func flag(d *datadriven.TestData, key string) bool {
	_, ok := d.Arg(key)
	return ok
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// numbers reads 1,2 or [1,2]; nothing is no numbers.
func numbers(s string) []int32 {
	out := []int32{}
	for _, f := range strings.Split(strings.Trim(s, "[]"), ",") {
		if f != "" {
			out = append(out, int32(number(f)))
		}
	}
	return out
}

// tell carries out one directive and gives its trace.
func tell(t *testing.T, w *world, d *datadriven.TestData) string {
	var b strings.Builder
	trace := func(e Effects) {
		for _, ev := range e.Events {
			if ev.Broker == kafka.NoLeader {
				fmt.Fprintf(&b, "event %v\n", ev.Kind)
			} else {
				fmt.Fprintf(&b, "event %v %d\n", ev.Kind, ev.Broker)
			}
		}
		for _, a := range e.Appends {
			for i, v := range a.Values {
				r, version, err := metadata.ReadRecord(v)
				if err != nil {
					t.Fatal(err)
				}
				mark := "       "
				if i == 0 {
					mark = "append "
				}
				fmt.Fprintf(&b, "%s%d: %s v%d\n", mark, a.BaseOffset+kafka.Offset(i), describeRecord(r), version)
			}
		}
		for _, r := range e.Responses {
			if token, ok := r.Body.(*kmsg.CreateDelegationTokenResponse); ok && token.HMAC != nil {
				w.hmac = token.HMAC
			}
			fmt.Fprintf(&b, "answer %d: %s\n", r.ID, describeResponse(r.Body))
		}
	}
	switch d.Cmd {
	case "lead":
		trace(w.lead(kafka.LeaderEpoch(number(arg(d, "epoch", "1")))))
	case "voters":
		var ids []kafka.BrokerID
		for _, id := range numbers(arg(d, "ids", "")) {
			ids = append(ids, kafka.BrokerID(id))
		}
		trace(w.step(Voters{ids}))
	case "up":
		w.up(t, number(arg(d, "brokers", "3")))
	case "renounce":
		trace(w.step(Renounce{}))
		if flag(d, "truncate") {
			w.log = w.log[:w.done+1]
		}
	case "tick":
		trace(w.step(Tick{}))
	case "commit":
		last := kafka.Offset(len(w.log)) - 1
		if to := arg(d, "to", ""); to != "" {
			last = kafka.Offset(number(to))
		}
		trace(w.commit(last))
	case "advance":
		by, err := time.ParseDuration(arg(d, "by", "0s"))
		if err != nil {
			t.Fatal(err)
		}
		for end := w.now + by; ; {
			if !flag(d, "ticks") || w.out.Deadline > end {
				w.now = end
				break
			}
			w.now = max(w.now, w.out.Deadline)
			if e := w.step(Tick{}); len(e.Appends) > 0 || w.err != nil {
				fmt.Fprintf(&b, "at %v\n", w.now)
				trace(e)
			}
			if w.err != nil {
				break
			}
		}
	case "image":
		b.WriteString(describeImage(w.m.Image()))
		if w.m.Working().Digest() != w.m.Image().Digest() {
			fmt.Fprintf(&b, "not stable:\n%s", describeImage(w.m.Working()))
		}
	default:
		w.principal, w.clientID = arg(d, "as", ""), arg(d, "client", "")
		trace(w.request(storyRequest(t, w, d)))
	}
	if w.err != nil {
		fmt.Fprintf(&b, "error: %v\n", w.err)
	}
	if b.Len() == 0 {
		b.WriteString("ok\n")
	}
	return b.String()
}

func storyRequest(t *testing.T, w *world, d *datadriven.TestData) kmsg.Request {
	broker := int32(number(arg(d, "broker", "0")))
	epochOf := func(id int32) int64 {
		if e := arg(d, "epoch", ""); e != "" {
			return int64(number(e))
		}
		if b, ok := w.m.Working().Broker(kafka.BrokerID(id)); ok {
			return int64(b.Epoch)
		}
		return -1
	}
	lines := strings.Fields
	switch d.Cmd {
	case "register":
		r := registration(broker, byte(number(arg(d, "incarnation", "1"))))
		r.ClusterID = arg(d, "cluster", testCluster)
		r.Features[0].MaxSupportedVersion = int16(number(arg(d, "max", "33")))
		if rack := arg(d, "rack", ""); rack != "" {
			r.Rack = &rack
		}
		if n := number(arg(d, "dirs", "1")); n != 1 {
			r.LogDirs = nil
			for i := range n {
				r.LogDirs = append(r.LogDirs, storyDir(broker, i))
			}
		}
		r.PreviousBrokerEpoch = int64(number(arg(d, "previous", "-1")))
		return r
	case "heartbeat":
		r := w.beat(broker, kafka.Offset(number(arg(d, "offset", strconv.Itoa(int(w.done))))))
		r.BrokerEpoch, r.WantFence, r.WantShutdown = epochOf(broker), flag(d, "fence"), flag(d, "shutdown")
		if flag(d, "offline") {
			r.OfflineLogDirs = storyDirs(broker, d, "offline")
		}
		if flag(d, "cordoned") {
			r.Version, r.CordonedLogDirs = 2, storyDirs(broker, d, "cordoned")
		}
		return r
	case "create-topics":
		r := kmsg.NewPtrCreateTopicsRequest()
		r.Version, r.ValidateOnly = int16(number(arg(d, "version", "7"))), flag(d, "validate")
		for line := range strings.Lines(d.Input) {
			r.Topics = append(r.Topics, storyTopic(lines(line)))
		}
		return r
	case "delete-topics":
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version = int16(number(arg(d, "version", "6")))
		for line := range strings.Lines(d.Input) {
			target := kmsg.NewDeleteTopicsRequestTopic()
			name := strings.TrimSpace(line)
			if id, ok := strings.CutPrefix(name, "@"); ok {
				target.TopicID = [16]byte{9}
				if known, ok := w.m.Working().Topic(id); ok {
					target.TopicID = known.ID()
				}
			} else {
				target.Topic = &name
			}
			r.Topics = append(r.Topics, target)
		}
		return r
	case "create-partitions":
		r := kmsg.NewPtrCreatePartitionsRequest()
		r.Version, r.ValidateOnly = int16(number(arg(d, "version", "3"))), flag(d, "validate")
		for line := range strings.Lines(d.Input) {
			f := lines(line)
			more := kmsg.NewCreatePartitionsRequestTopic()
			more.Topic, more.Count = f[0], int32(number(f[1]))
			for _, a := range f[2:] {
				more.Assignment = append(more.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: numbers(a)})
			}
			r.Topics = append(r.Topics, more)
		}
		return r
	case "alter-partition":
		r := kmsg.NewPtrAlterPartitionRequest()
		r.Version, r.BrokerID, r.BrokerEpoch = int16(number(arg(d, "version", "3"))), broker, epochOf(broker)
		for line := range strings.Lines(d.Input) {
			r.Topics = append(r.Topics, storyAlter(w, lines(line)))
		}
		return r
	case "alter-configs":
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r.Version = 1
		for line := range strings.Lines(d.Input) {
			f := lines(line)
			res := kmsg.NewIncrementalAlterConfigsRequestResource()
			res.ResourceType, res.ResourceName = kmsg.ConfigResourceType(number(f[0])), strings.Trim(f[1], `"`)
			ops := map[string]kmsg.IncrementalAlterConfigOp{"set": 0, "delete": 1, "append": 2, "subtract": 3}
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Op, c.Name = ops[f[2]], f[3]
			if len(f) > 4 {
				c.Value = &f[4]
			}
			res.Configs = append(res.Configs, c)
			r.Resources = append(r.Resources, res)
		}
		return r
	case "elect-leaders":
		r := kmsg.NewPtrElectLeadersRequest()
		r.Version = 2
		if flag(d, "unclean") {
			r.ElectionType = 1
		}
		for line := range strings.Lines(d.Input) {
			tp := storyPartition(strings.TrimSpace(line))
			r.Topics = append(r.Topics, kmsg.ElectLeadersRequestTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
		}
		return r
	case "reassign":
		return storyReassign(d)
	case "list-reassignments":
		r := kmsg.NewPtrListPartitionReassignmentsRequest()
		for line := range strings.Lines(d.Input) {
			tp := storyPartition(strings.TrimSpace(line))
			r.Topics = append(r.Topics, kmsg.ListPartitionReassignmentsRequestTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
		}
		return r
	case "create-acls", "delete-acls", "alter-quotas", "alter-scram", "create-token", "renew-token", "expire-token", "replace-configs":
		return storyAdmin(w, d)
	case "update-features":
		return storyFeatures(d)
	case "assign-dirs":
		return storyAssign(w, d, broker, epochOf(broker))
	case "producer-ids":
		r := kmsg.NewPtrAllocateProducerIDsRequest()
		r.BrokerID, r.BrokerEpoch = broker, epochOf(broker)
		return r
	case "unregister":
		r := kmsg.NewPtrUnregisterBrokerRequest()
		r.BrokerID = broker
		return r
	case "register-controller":
		r := kmsg.NewPtrControllerRegistrationRequest()
		r.ControllerID = broker
		f := kmsg.NewControllerRegistrationRequestFeature()
		f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = metadata.MetadataVersionFeature, 7, int16(number(arg(d, "max", "33")))
		r.Features = append(r.Features, f)
		return r
	case "unregister-controller":
		r := kmsg.NewPtrUnregisterControllerRequest()
		r.ControllerID = broker
		return r
	}
	t.Fatalf("%s: unknown directive %s", d.Pos, d.Cmd)
	return nil
}

func storyTopic(f []string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = strings.Trim(f[0], `"`), -1, -1
	for i, a := range f[1:] {
		switch {
		case strings.HasPrefix(a, "["):
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: numbers(a)})
		case strings.Contains(a, "="):
			k, v, _ := strings.Cut(a, "=")
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: &v})
		case i == 0:
			t.NumPartitions = int32(number(a))
		default:
			t.ReplicationFactor = int16(number(a))
		}
	}
	return t
}

func storyPartition(s string) kafka.TopicPartition {
	i := strings.LastIndex(s, "-")
	return kafka.TopicPartition{Topic: s[:i], Partition: int32(number(s[i+1:]))}
}

func storyAlter(w *world, f []string) kmsg.AlterPartitionRequestTopic {
	tp := storyPartition(f[0])
	p := kmsg.NewAlterPartitionRequestTopicPartition()
	p.Partition = tp.Partition
	var epochs []int32
	for _, a := range f[1:] {
		k, v, _ := strings.Cut(a, "=")
		switch k {
		case "leader-epoch":
			p.LeaderEpoch = int32(number(v))
		case "epoch":
			p.PartitionEpoch = int32(number(v))
		case "isr":
			p.NewISR = numbers(v)
		case "broker-epochs":
			epochs = numbers(v)
		case "recovering":
			p.LeaderRecoveryState = 1
		}
	}
	for i, id := range p.NewISR {
		b := kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: -1}
		if i < len(epochs) {
			b.BrokerEpoch = int64(epochs[i])
		}
		p.NewEpochISR = append(p.NewEpochISR, b)
	}
	topic := kmsg.AlterPartitionRequestTopic{Topic: tp.Topic, TopicID: [16]byte{9}, Partitions: []kmsg.AlterPartitionRequestTopicPartition{p}}
	if t, ok := w.m.Working().Topic(tp.Topic); ok {
		topic.TopicID = t.ID()
	}
	return topic
}

func storyReassign(d *datadriven.TestData) kmsg.Request {
	r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	r.Version, r.AllowReplicationFactorChange = 1, !flag(d, "fixed-factor")
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		tp := storyPartition(f[0])
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		p.Partition = tp.Partition
		if f[1] != "cancel" {
			p.Replicas = numbers(f[1])
		}
		r.Topics = append(r.Topics, kmsg.AlterPartitionAssignmentsRequestTopic{Topic: tp.Topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}})
	}
	return r
}

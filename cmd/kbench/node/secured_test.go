package node

import (
	"context"
	"encoding/base64"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/internal/authority"
	"kbench/internal/heldport/heldtest"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// everywhere is the security of a cluster whose every listener wants TLS and
// SASL.
func (r *rig) everywhere(listener nodeconfig.Listener, extra map[string]nodeconfig.Listener) nodeconfig.Security {
	s := nodeconfig.Security{
		InterBroker: "SASL_SSL", Listeners: map[string]nodeconfig.Listener{"SASL_SSL": listener},
		TLS: r.keys, SASL: nodeconfig.SASL{Username: "admin", Password: "admin-secret", Users: map[string]string{"carl": "carl-secret"}},
		Authorizer: true, SuperUsers: []string{"User:admin", "User:CN=node"}, TokenSecret: "sesame",
	}
	for name, l := range extra {
		s.Listeners[name] = l
	}
	return s
}

var saslSSL = nodeconfig.Listener{Protocol: "SASL_SSL", Mechanisms: []string{"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"}}

// startZK starts an embedded store behind TLS, a candidate and a broker, and a
// listener for the controller alone, which wants certificates.
func (r *rig) startZK() (control string) {
	p := heldtest.Ports(r.t, 5)
	keys := r.keys
	r.start(nodeconfig.Config{
		Name: "store", Role: nodeconfig.RoleZooKeeper,
		ZKServer: nodeconfig.ZKServer{Host: "127.0.0.1", Port: p[0], TickTime: nodeconfig.Duration(time.Second), TLS: &keys},
	})
	security := r.everywhere(saslSSL, map[string]nodeconfig.Listener{"CONTROL": {Protocol: "SSL", ClientAuth: "required"}})
	security.ControlPlane = "CONTROL"
	for i, name := range []string{"candidate", "broker"} {
		r.start(nodeconfig.Config{
			Name: name, Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeZK, Security: security, Timers: calm,
			Brokers: []nodeconfig.Broker{{
				ID: kafka.BrokerID(i + 1), Host: "127.0.0.1", Port: p[1+2*i], Candidate: i == 0,
				Listeners: []nodeconfig.BrokerEndpoint{{Name: "CONTROL", Port: p[2+2*i]}},
			}},
			ZooKeeper: nodeconfig.ZooKeeper{
				Servers: []string{addr(p[0])}, SessionTimeout: nodeconfig.Duration(15 * time.Second), TLS: &keys,
				Access: nodeconfig.ZooKeeperAccess{Scheme: "digest", Username: "kafka", Password: "zk-secret", SetACL: true},
			},
		})
	}
	r.seed = addr(p[1])
	return addr(p[2])
}

// startKRaft starts three voters, whose listener wants certificates beside
// passwords, and two brokers.
func (r *rig) startKRaft() (controllers []string) {
	p := heldtest.Ports(r.t, 5)
	var voters []nodeconfig.Voter
	for i, port := range p[:3] {
		voters = append(voters, nodeconfig.Voter{ID: kafka.BrokerID(1001 + i), Host: "127.0.0.1", Port: port})
		controllers = append(controllers, addr(port))
	}
	security := r.everywhere(saslSSL, map[string]nodeconfig.Listener{
		"CONTROLLER": {Protocol: "SASL_SSL", Mechanisms: []string{"SCRAM-SHA-512"}, ClientAuth: "required"},
	})
	own := security
	own.InterBroker, own.Listeners = "", map[string]nodeconfig.Listener{"CONTROLLER": security.Listeners["CONTROLLER"]}
	for i, name := range []string{"c1", "c2", "c3"} {
		r.start(nodeconfig.Config{
			Name: name, Role: nodeconfig.RoleController, Mode: nodeconfig.ModeKRaft, Security: own, Timers: calm,
			Quorum: nodeconfig.Quorum{NodeID: voters[i].ID, Voters: voters},
		})
	}
	for i, name := range []string{"b1", "b2"} {
		r.start(nodeconfig.Config{
			Name: name, Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeKRaft, Security: security, Timers: calm,
			Brokers: []nodeconfig.Broker{{ID: kafka.BrokerID(i + 1), Host: "127.0.0.1", Port: p[3+i]}},
			Quorum:  nodeconfig.Quorum{Voters: voters},
		})
	}
	r.seed = addr(p[3])
	return controllers
}

func TestSecuredZooKeeperMode(t *testing.T) {
	r := newRig(t)
	control := r.startZK()
	r.story("3.9.2")
	r.controllersOnly(r.seed)
	r.certificates(control, nil)
}

func TestSecuredQuorum(t *testing.T) {
	r := newRig(t)
	controllers := r.startKRaft()
	r.story("4.4.0")
	r.controllersOnly(controllers[0])
	r.ofController(controllers[0])
	r.certificates(controllers[0], scramUser("admin"))
}

func scramUser(name string) sasl.Mechanism {
	return scram.Auth{User: name, Pass: name + "-secret"}.AsSha512Mechanism()
}

// story is what clients of a secured cluster live through, Kafka's tools of a
// version among them.
func (r *rig) story(version string) {
	r.eventually("two brokers are there", func() bool { return r.brokersSeen() == 2 })
	admin := r.client(scramUser("admin"))
	r.t.Run("users and ACLs", func(t *testing.T) { r.in(t).users(admin) })
	r.t.Run("ACLs decide", func(t *testing.T) { r.in(t).authorization() })
	r.t.Run("delegation token", func(t *testing.T) { r.in(t).tokens() })
	r.t.Run("refusals", func(t *testing.T) { r.in(t).refusals() })
	r.t.Run("kcat", func(t *testing.T) { r.in(t).kcat() })
	r.t.Run("Kafka's tools", func(t *testing.T) { r.in(t).tools(version) })
}

// brokersSeen counts the brokers that the seed knows, while it knows a controller.
// It asks anew each time, unlike franz-go, which keeps what it heard.
func (r *rig) brokersSeen() int {
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	c, err := wire.Dial(ctx, r.seed, wire.DialOptions{}.With(wire.Identity{TLS: r.trust(), SASL: scramUser("admin")}))
	if err != nil {
		return 0
	}
	defer c.Close()
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = 9, []kmsg.MetadataRequestTopic{}
	resp, err := c.Request(ctx, req)
	if err != nil || resp.(*kmsg.MetadataResponse).ControllerID < 0 {
		return 0
	}
	return len(resp.(*kmsg.MetadataResponse).Brokers)
}

// in gives the rig to a part of a story.
func (r *rig) in(t *testing.T) *rig {
	part := *r
	part.t = t
	return &part
}

// users makes ann, who may do everything with topics that begin with orders, and
// bob, who may do nothing.
func (r *rig) users(admin *kadm.Client) {
	for _, u := range []string{"ann", "bob"} {
		r.eventually("user "+u+" is made", func() bool {
			got, err := admin.AlterUserSCRAMs(r.t.Context(), nil, []kadm.UpsertSCRAM{{User: u, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: u + "-secret"}})
			return err == nil && got.Ok()
		})
	}
	for who, rights := range map[string]*kadm.ACLBuilder{
		"topics": kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpAll).Allow("User:ann", "User:carl").AllowHosts("*"),
	} {
		got, err := admin.CreateACLs(r.t.Context(), rights)
		if err != nil || len(got) != 2 || got[0].Err != nil || got[1].Err != nil {
			r.t.Fatalf("%s: %v, %v", who, got, err)
		}
	}
	for _, u := range []string{"ann", "bob"} {
		r.eventually(u+" can log in at every broker", func() bool {
			_, err := r.client(scramUser(u)).BrokerMetadata(r.t.Context())
			return err == nil
		})
	}
}

// create makes a topic and gives the error of it.
func (r *rig) create(as *kadm.Client, topic string) error {
	r.t.Helper()
	resp, err := as.CreateTopic(r.t.Context(), 3, 2, nil, topic)
	if err == nil {
		err = resp.Err
	}
	return err
}

func (r *rig) authorization() {
	ann, bob, carl := r.client(scramUser("ann")), r.client(scramUser("bob")), r.client(plain.Auth{User: "carl", Pass: "carl-secret"}.AsMechanism())
	r.eventually("ann makes a topic", func() bool {
		err := r.create(ann, "orders")
		return err == nil || errors.Is(err, kerr.TopicAlreadyExists)
	})
	if err := r.create(carl, "orders-of-carl"); err != nil {
		r.t.Errorf("carl, by PLAIN: %v", err)
	}
	if err := r.create(ann, "secrets"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		r.t.Errorf("ann makes a topic that she may not: %v", err)
	}
	if err := r.create(bob, "orders-of-bob"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		r.t.Errorf("bob makes a topic: %v", err)
	}
	if _, err := bob.ElectLeaders(r.t.Context(), kadm.ElectPreferredReplica, nil); !errors.Is(err, kerr.ClusterAuthorizationFailed) {
		r.t.Errorf("bob elects leaders: %v", err)
	}
	if got, err := bob.ListTopics(r.t.Context()); err != nil || len(got) != 0 {
		r.t.Errorf("bob sees %v, %v", got, err)
	}
	r.eventually("ann produces", func() bool { return r.produce(scramUser("ann")) == nil })
	if err := r.produce(scramUser("bob")); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		r.t.Errorf("bob produces: %v", err)
	}
}

func (r *rig) produce(as sasl.Mechanism) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.seed), kgo.DialTLSConfig(r.trust()), kgo.SASL(as), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	return cl.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("x")}).FirstErr()
}

// tokens has ann make a token, and its holder act as ann, but make no token.
func (r *rig) tokens() {
	ann := r.client(scramUser("ann"))
	token, err := ann.CreateDelegationToken(r.t.Context(), kadm.CreateDelegationToken{})
	if err != nil {
		r.t.Fatal(err)
	}
	by := scram.Auth{User: token.TokenID, Pass: base64.StdEncoding.EncodeToString(token.HMAC), IsToken: true}.AsSha512Mechanism()
	r.eventually("the token is known at every broker", func() bool { return r.produce(by) == nil })
	holder := r.client(by)
	if err := r.create(holder, "orders-by-token"); err != nil {
		r.t.Errorf("the holder makes a topic of ann's: %v", err)
	}
	if err := r.create(holder, "secrets"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		r.t.Errorf("the holder makes a topic that ann may not: %v", err)
	}
	if _, err := holder.CreateDelegationToken(r.t.Context(), kadm.CreateDelegationToken{}); !errors.Is(err, kerr.DelegationTokenRequestNotAllowed) {
		r.t.Errorf("the holder makes a token: %v", err)
	}
	if _, err := ann.ExpireDelegationToken(r.t.Context(), token.HMAC, -1); err != nil {
		r.t.Errorf("ann ends the token: %v", err)
	}
	r.eventually("the token is refused", func() bool {
		ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
		defer cancel()
		c, err := wire.Dial(ctx, r.seed, wire.DialOptions{}.With(wire.Identity{TLS: r.trust(), SASL: by}))
		if err == nil {
			c.Close()
		}
		return err != nil && strings.Contains(err.Error(), kafka.SaslAuthenticationFailed.Error())
	})
}

// refusals are told on both sides, and none hangs.
func (r *rig) refusals() {
	foreign, err := authority.New(r.dir + "/foreign")
	if err != nil {
		r.t.Fatal(err)
	}
	good := scramUser("ann")
	for _, c := range []struct {
		what       string
		id         wire.Identity
		want, says string
	}{
		{"wrong password", wire.Identity{TLS: r.trust(), SASL: scram.Auth{User: "ann", Pass: "guess"}.AsSha512Mechanism()}, "SASL_AUTHENTICATION_FAILED", "authentication failed by SCRAM-SHA-512"},
		{"unknown user", wire.Identity{TLS: r.trust(), SASL: scramUser("eve")}, "SASL_AUTHENTICATION_FAILED", "unknown user"},
		{"no TLS", wire.Identity{SASL: good}, "the listener may want TLS or SASL", "speaks without TLS"},
		{"no SASL", wire.Identity{TLS: r.trust()}, "", "before it has authenticated"},
		{"foreign authority", wire.Identity{TLS: (&rig{t: r.t, ca: foreign}).trust(), SASL: good}, "unknown authority", "bad certificate"},
	} {
		if c.what == "no SASL" { // ApiVersions is for everybody, nothing else
			conn := r.dial(r.seed, c.id)
			_, err := conn.Request(r.t.Context(), kmsg.NewPtrMetadataRequest())
			if err == nil {
				r.t.Error("served without SASL")
			}
		} else if got := r.refused(r.seed, c.id); !strings.Contains(got, c.want) {
			r.t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		r.says(c.says)
	}
}

// controllersOnly sends what controllers, and brokers to them, say: bob may not.
func (r *rig) controllersOnly(at string) {
	id := wire.Identity{TLS: r.trust(r.keys), SASL: scramUser("bob")}
	conn := r.dial(at, id)
	for _, req := range []kmsg.Request{
		kmsg.NewPtrLeaderAndISRRequest(), kmsg.NewPtrUpdateMetadataRequest(), kmsg.NewPtrControlledShutdownRequest(),
		kmsg.NewPtrAlterPartitionRequest(), kmsg.NewPtrVoteRequest(), kmsg.NewPtrBrokerRegistrationRequest(), kmsg.NewPtrEnvelopeRequest(),
	} {
		versions, err := conn.APIVersions(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		served, ok := versions[req.Key()]
		if !ok {
			continue
		}
		req.SetVersion(served.Min)
		r.mayNot(conn, req)
	}
}

// mayNot sends a request that its sender has no right to on the cluster.
func (r *rig) mayNot(conn *wire.Conn, req kmsg.Request) {
	r.t.Helper()
	resp, err := conn.Request(r.t.Context(), req)
	if err != nil {
		r.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	if code := topCode(resp); code != kafka.ClusterAuthorizationFailed {
		r.t.Errorf("%s: %v, %+v", kmsg.NameForKey(req.Key()), code, resp)
	}
}

// ofController has bob ask a controller for the metadata log, as a consumer asks by
// id and as a replica asks for a snapshot, and for the controllers there are.
func (r *rig) ofController(at string) {
	conn := r.dial(at, wire.Identity{TLS: r.trust(r.keys), SASL: scramUser("bob")})
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version, fetch.ReplicaID, fetch.MaxBytes = 13, -1, 1<<20
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID = kafka.MetadataTopicID
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	topic.Partitions = append(topic.Partitions, p)
	fetch.Topics = append(fetch.Topics, topic)
	describe := kmsg.NewPtrDescribeClusterRequest()
	describe.Version, describe.EndpointType = 1, 2
	for _, req := range []kmsg.Request{fetch, kmsg.NewPtrFetchSnapshotRequest(), describe} {
		r.mayNot(conn, req)
	}
}

// certificates shows ones to a listener that wants them which are not worth it.
func (r *rig) certificates(at string, as sasl.Mechanism) {
	foreign, err := authority.New(r.dir + "/other")
	if err != nil {
		r.t.Fatal(err)
	}
	for what, c := range map[string]struct {
		id         wire.Identity
		want, says string
	}{
		"none":    {wire.Identity{TLS: r.trust(), SASL: as}, "certificate required", "client didn't provide a certificate"},
		"foreign": {wire.Identity{TLS: r.trust(r.issue(foreign, "eve", "node", time.Time{})), SASL: as}, "", "unknown authority"},
		"expired": {wire.Identity{TLS: r.trust(r.issue(r.ca, "old", "node", time.Now().Add(-time.Hour))), SASL: as}, "certificate", "certificate has expired"},
	} {
		if got := r.refused(at, c.id); !strings.Contains(got, c.want) {
			r.t.Errorf("%s certificate: %s, want %s", what, got, c.want)
		}
		r.says(c.says)
	}
}

// topCode is a response's own code.
func topCode(resp kmsg.Response) kafka.ErrorCode {
	switch x := resp.(type) {
	case *kmsg.LeaderAndISRResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.UpdateMetadataResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.ControlledShutdownResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.AlterPartitionResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.VoteResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.BrokerRegistrationResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.EnvelopeResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.FetchResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.FetchSnapshotResponse:
		return kafka.ErrorCode(x.ErrorCode)
	case *kmsg.DescribeClusterResponse:
		return kafka.ErrorCode(x.ErrorCode)
	}
	return kafka.None
}

// kcat lists topics by librdkafka. It logs in by PLAIN: librdkafka before 2.6.1
// breaks RFC 5802 in SCRAM's nonce, which Kafka since 3.9 does not let pass
// either (CVE-2024-56128).
func (r *rig) kcat() {
	if _, err := exec.LookPath("kcat"); err != nil {
		r.t.Skip("SKIPPED: no kcat: ", err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "kcat", "-L", "-b", r.seed, "-X", "security.protocol=SASL_SSL", "-X", "ssl.ca.location="+r.ca.File,
		"-X", "sasl.mechanism=PLAIN", "-X", "sasl.username=carl", "-X", "sasl.password=carl-secret").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `topic "orders" with 3 partitions`) {
		r.t.Errorf("%v: %s", err, out)
	}
}

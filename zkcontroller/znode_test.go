package zkcontroller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/ibp"
	"kbench/zkcontroller/zk"
)

func (c *cluster) put(o zk.Op) {
	c.t.Helper()
	if r := c.zk.Do(c.t.Context(), o); r.Err != nil {
		c.t.Fatalf("%s: %v", o.Path(), r.Err)
	}
}

// empty waits until a queue of notifications is worked off.
func (c *cluster) empty(path string) {
	c.t.Helper()
	c.eventually(path+" is empty", func() bool {
		r := c.zk.Do(c.t.Context(), zk.Children(path))
		return r.Err == nil && len(r.Children) == 0
	})
}

// ZK-17: /feature is created, enabled, or left alone; an old protocol disables it.
func TestFeatureZnode(t *testing.T) {
	old, err := ibp.Parse("2.6")
	if err != nil {
		t.Fatal(err)
	}
	f1 := map[string]int16{"f1": 3}
	for _, x := range []struct {
		name     string
		protocol ibp.Version
		before   *zk.Feature
		after    zk.Feature
		version  int32
	}{
		{"absent", ibp.Default, nil, zk.Feature{Version: 2, Enabled: true}, 0},
		{"disabled", ibp.Default, &zk.Feature{Version: 2, Features: f1}, zk.Feature{Version: 2, Enabled: true}, 1},
		{"enabled", ibp.Default, &zk.Feature{Version: 2, Enabled: true, Features: f1}, zk.Feature{Version: 2, Enabled: true, Features: f1}, 0},
		{"enabled, older form", ibp.Default, &zk.Feature{Version: 1, Enabled: true, Features: f1}, zk.Feature{Version: 2, Enabled: true, Features: f1}, 1},
		{"absent, old protocol", old, nil, zk.Feature{Version: 1}, 0},
		{"enabled, old protocol", old, &zk.Feature{Version: 2, Enabled: true, Features: f1}, zk.Feature{Version: 1}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newCluster(t)
			if x.before != nil {
				c.put(zk.Create(zk.FeaturePath, zk.EncodeFeature(*x.before)))
			}
			b := c.start(1, true, func(cfg *Config) { cfg.Protocol = x.protocol })
			c.active()
			r := c.zk.Do(t.Context(), zk.Get(zk.FeaturePath))
			f, err := zk.DecodeFeature(r.Data)
			if err != nil || !f.Equal(&x.after) || r.Version != x.version {
				t.Errorf("%+v in version %d, %v; want %+v in %d", f, r.Version, err, x.after, x.version)
			}
			b.kill()
		})
	}
}

func TestUpdateFeaturesRequest(t *testing.T) {
	c := newCluster(t)
	b := c.start(1, true)
	c.active()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "f1", MaxVersionLevel: 2, UpgradeType: 1}}
	ask := func() kafka.ErrorCode {
		t.Helper()
		r := c.ask(b, req, 1).(*kmsg.UpdateFeaturesResponse)
		if r.ErrorCode != 0 || len(r.Results) != 1 {
			t.Fatalf("%+v", r)
		}
		return kafka.ErrorCode(r.Results[0].ErrorCode)
	}
	if got := ask(); got != kafka.InvalidRequest {
		t.Errorf("a feature that no broker supports: %v", got)
	}
	if err := b.session.UpdateBroker(t.Context(), zk.BrokerRegistration{ID: 1, Endpoints: []kafka.Endpoint{b.ep}, Features: map[string]zk.VersionRange{"f1": {Min: 1, Max: 3}}}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the level is finalized", func() bool { return ask() == kafka.None })
	f, err := zk.DecodeFeature(c.zk.Do(t.Context(), zk.Get(zk.FeaturePath)).Data)
	if err != nil || f.Features["f1"] != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

// A leader of an old protocol writes its ISR and leaves a notification.
func TestISRChangeNotification(t *testing.T) {
	c, _ := startThree(t)
	c.create("t", []int32{1, 2})
	s, version := c.state("t", 0)
	s.ISR = []kafka.BrokerID{1}
	c.put(zk.Set(zk.StatePath("t", 0), zk.EncodeState(s), version))
	c.put(zk.CreateSequential(zk.ISRChangesPath+"/isr_change_", zk.EncodePartitionSet([]kafka.TopicPartition{{Topic: "t"}})))
	c.converged("t", 0, 1, 1)
	c.empty(zk.ISRChangesPath)
	c.put(zk.CreateSequential(zk.ISRChangesPath+"/isr_change_", []byte("not JSON")))
	c.empty(zk.ISRChangesPath)
}

// A broker says that a log directory failed; the answers to LeaderAndIsr say
// which replicas were in it.
func TestLogDirFailure(t *testing.T) {
	c, b3 := startThree(t)
	c.create("t", []int32{3, 2}, []int32{3, 1})
	c.converged("t", 1, 3, 3, 1)
	b3.mu.Lock()
	b3.failed = map[kafka.TopicPartition]bool{{Topic: "t"}: true}
	b3.mu.Unlock()
	c.put(zk.CreateSequential(zk.LogDirEventsPath+"/log_dir_event_", zk.EncodeLogDirEvent(3)))
	c.converged("t", 0, 2, 2)
	c.empty(zk.LogDirEventsPath)
	c.converged("t", 1, 3, 3, 1)
}

// An unclean election becomes allowed by a change of configuration, of the topic
// and of the brokers' default.
func TestUncleanElectionByConfigChange(t *testing.T) {
	c, b3 := startThree(t)
	b2 := c.brokers[2]
	c.create("t", []int32{3, 2})
	c.create("u", []int32{3, 2})
	c.converged("u", 0, 3, 3, 2)
	b2.kill()
	c.converged("t", 0, 3, 3)
	c.converged("u", 0, 3, 3)
	b3.kill()
	c.converged("t", 0, -1, 3)
	c.converged("u", 0, -1, 3)
	c.start(2, false)
	if err := c.zk.WriteConfig(t.Context(), zk.TopicConfigs, "t", map[string]string{"unclean.leader.election.enable": "true"}); err != nil {
		t.Fatal(err)
	}
	c.converged("t", 0, 2, 2)
	if s, _ := c.state("t", 0); s.Recovery != kafka.Recovering {
		t.Errorf("%+v", s)
	}
	if s, _ := c.state("u", 0); s.Leader != kafka.NoLeader {
		t.Errorf("%+v", s)
	}
	if err := c.zk.WriteConfig(t.Context(), zk.BrokerConfigs, zk.DefaultEntity, map[string]string{"unclean.leader.election.enable": "true"}); err != nil {
		t.Fatal(err)
	}
	c.converged("u", 0, 2, 2)
}

// A topic's znode is rewritten by hand, and a broker's registration.
func TestZnodesRewrittenByHand(t *testing.T) {
	c, b3 := startThree(t)
	c.create("t", []int32{1, 2})
	two := zk.TopicAssignment{ID: c.topicID("t"), Partitions: map[int32]zk.Assignment{0: {Replicas: []kafka.BrokerID{1, 2}}, 1: {Replicas: []kafka.BrokerID{2, 3}}}}
	c.put(zk.Set(zk.TopicPath("t"), zk.EncodeTopic(two), zk.AnyVersion))
	c.converged("t", 1, 2, 2, 3)
	one := zk.TopicAssignment{ID: two.ID, Partitions: map[int32]zk.Assignment{0: two.Partitions[0]}}
	c.put(zk.Set(zk.TopicPath("t"), zk.EncodeTopic(one), zk.AnyVersion))
	c.eventually("the lost partition is put back", func() bool { return len(c.assignment("t", 1).Replicas) == 2 })
	ep := b3.ep
	ep.Port++
	b1 := c.brokers[1]
	n := func() int { b1.mu.Lock(); defer b1.mu.Unlock(); return b1.port(3) }
	c.eventually("3 is known by its port", func() bool { return n() == int(b3.ep.Port) })
	if err := b3.session.UpdateBroker(t.Context(), zk.BrokerRegistration{ID: 3, Endpoints: []kafka.Endpoint{ep}}); err != nil {
		t.Fatal(err)
	}
	c.eventually("3 is known by its new port", func() bool { return n() == int(ep.Port) })
}

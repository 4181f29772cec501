package zkcontroller

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// Znodes that somebody broke are named and left out; the rest is read. Of a
// registration or of /feature that cannot be read the batch makes an error that
// names them, as there is no controller in Kafka either.
func TestBrokenZnodes(t *testing.T) {
	c := newCluster(t)
	var said strings.Builder
	st := &store{session: c.zk, fence: zk.NoFence, log: slog.New(slog.NewTextHandler(&said, nil))}
	ctx := t.Context()
	whole := map[int32]zk.Assignment{0: {Replicas: []kafka.BrokerID{1}}}
	for _, x := range []struct{ path, data string }{
		{zk.TopicPath("t"), "{"},
		{zk.PartitionsPath("t"), ""},
		{zk.PartitionPath("t", 0), ""},
		{zk.StatePath("t", 0), "nonsense"},
		{zk.TopicPath("v"), `{"version":3,"partitions":{"2147483647":[1]}}`},
		{zk.TopicPath("u"), string(zk.EncodeTopic(zk.TopicAssignment{Partitions: whole}))},
		{zk.BrokerIDsPath + "/x", ""},
		{zk.BrokerIDsPath + "/-3", "{}"},
		{zk.EntityConfigPath(zk.TopicConfigs, "t"), "{{"},
		{zk.EntityConfigPath(zk.BrokerConfigs, zk.DefaultEntity), "[]"},
	} {
		c.put(zk.Create(x.path, []byte(x.data)))
	}
	c.put(zk.Set(zk.ProducerIDBlockPath, []byte("1000"), zk.AnyVersion))
	topics := &machine.ReadAssignments{Topics: []string{"t", "u", "v"}}
	states := &machine.ReadStates{Partitions: []kafka.TopicPartition{{Topic: "t"}}}
	brokers, ids := &machine.ReadBrokers{}, &machine.ReadProducerIDs{}
	configs, defaults := &machine.ReadConfigs{Topics: []string{"t"}}, &machine.ReadBrokerConfigs{ID: 1}
	for _, b := range []machine.Batch{topics, states, brokers, ids, configs, defaults} {
		if err := st.run(ctx, b); err != nil {
			t.Errorf("%T: %v", b, err)
		}
	}
	if topics.Results[0].Found || !topics.Results[1].Found || topics.Results[2].Found || states.Results[0].Found || len(brokers.Brokers) > 0 || !ids.Broken ||
		len(configs.Configs[0]) > 0 || len(defaults.Default) > 0 {
		t.Errorf("%+v %+v %+v %+v %+v %+v", topics, states, brokers, ids, configs, defaults)
	}
	for _, path := range []string{
		"path=/brokers/topics/t ", "path=/brokers/topics/v ", "path=/brokers/topics/t/partitions/0/state ", "path=/brokers/ids/x ", "path=/brokers/ids/-3 ",
		"path=/latest_producer_id_block ", "path=/config/topics/t ", "path=/config/brokers/<default> ",
	} {
		if !strings.Contains(said.String(), path) {
			t.Errorf("%s is not named in\n%s", path, &said)
		}
	}
	c.put(zk.Create(zk.BrokerPath(9), []byte("{")))
	c.put(zk.Create(zk.FeaturePath, []byte("{")))
	for _, x := range []struct {
		batch machine.Batch
		path  string
	}{{brokers, zk.BrokerPath(9)}, {&machine.ReadFeature{}, zk.FeaturePath}} {
		if err := st.run(ctx, x.batch); err == nil || !strings.Contains(err.Error(), x.path) || !strings.Contains(err.Error(), "correct or remove") {
			t.Errorf("%T: %v", x.batch, err)
		}
	}
}

// One broken topic does not take the controller from all others, by event or by
// failover, and is taken up when it is corrected.
func TestControllerOutlivesBrokenZnodes(t *testing.T) {
	c := newCluster(t)
	b := c.start(1, true)
	c.active()
	good := zk.EncodeTopic(zk.TopicAssignment{ID: kafka.UUID{1}, Partitions: map[int32]zk.Assignment{0: {Replicas: []kafka.BrokerID{1}}}})
	c.put(zk.Create(zk.TopicPath("broken"), []byte("{")))
	c.put(zk.Create(zk.BrokerIDsPath+"/nobody", nil))
	c.put(zk.Create(zk.TopicPath("good"), good))
	c.converged("good", 0, 1, 1)
	c.put(zk.Set(zk.TopicPath("broken"), []byte(strings.Replace(string(good), kafka.UUID{1}.String(), kafka.UUID{2}.String(), 1)), zk.AnyVersion))
	c.converged("broken", 0, 1, 1)

	c.put(zk.Set(zk.StatePath("broken", 0), []byte("{"), zk.AnyVersion))
	c.put(zk.Set(zk.ProducerIDBlockPath, []byte("{"), zk.AnyVersion))
	c.put(zk.Delete(zk.ControllerPath, zk.AnyVersion))
	c.eventually("the next epoch is active", func() bool {
		_, epoch := b.controllerSeen()
		return epoch == 2 && b.controller.Active()
	})
	ids := kmsg.NewPtrAllocateProducerIDsRequest()
	ids.BrokerID, ids.BrokerEpoch = 1, int64(b.epoch)
	if r := c.ask(b, ids, 0).(*kmsg.AllocateProducerIDsResponse); kafka.ErrorCode(r.ErrorCode) != kafka.UnknownServerError {
		t.Errorf("producer ids after a block that cannot be read: %v", kafka.ErrorCode(r.ErrorCode))
	}
	c.create("more", []int32{1})
	c.converged("more", 0, 1, 1)
	if got := string(c.zk.Do(t.Context(), zk.Get(zk.ControllerEpochPath)).Data); got != "2" {
		t.Errorf("controller epoch %s, want 2", got)
	}
}

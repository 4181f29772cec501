package zkcontroller

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// lossy is a connection that lets requests out and, once told to, breaks
// instead of delivering the reply.
type lossy struct {
	net.Conn
	lose *atomic.Bool
}

func (l *lossy) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.lose.CompareAndSwap(true, false) {
		l.Conn.Close()
		return 0, errors.New("reply lost")
	}
	return n, err
}

// A write whose reply was lost is found out to have been done: it is neither
// reported as failed nor done twice.
func TestLostReplies(t *testing.T) {
	c := newCluster(t)
	var lose atomic.Bool
	s := c.connect(zk.Config{Dial: func(network, addr string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, addr, timeout)
		return &lossy{conn, &lose}, err
	}})
	ctx := t.Context()
	e, err := s.Elect(ctx, 1, 1)
	if err != nil || !e.Won {
		t.Fatal(e, err)
	}
	st := &store{session: s, fence: e.EpochVersion}
	run := func(b machine.Batch) {
		t.Helper()
		lose.Store(true)
		if err := st.run(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	topics := &machine.CreateTopics{Topics: []machine.TopicWrite{{Topic: "t", ID: kafka.UUID{1}, Partitions: map[int32]machine.Assignment{0: {Replicas: []kafka.BrokerID{1}}}}}}
	if err := s.EnsurePersistentPaths(ctx); err != nil {
		t.Fatal(err)
	}
	if err := st.run(ctx, &machine.ReadTopics{}); err != nil {
		t.Fatal(err)
	}
	run(topics)
	if topics.Codes[0].Code != machine.OK {
		t.Fatalf("create topic: %v", topics.Codes[0])
	}
	again := &machine.CreateTopics{Topics: topics.Topics}
	if err := st.run(ctx, again); err != nil || again.Codes[0].Code != machine.NodeExists {
		t.Fatalf("create topic again: %v, %v", again.Codes, err)
	}
	tp := kafka.TopicPartition{Topic: "t"}
	state := machine.LeaderISR{Leader: 1, ISR: []kafka.BrokerID{1}, ControllerEpoch: e.Epoch}
	created := &machine.CreateStates{Writes: []machine.StateWrite{{Partition: tp, State: state}}}
	// The reply that is lost shall be that of the last round.
	for _, path := range []string{zk.PartitionsPath("t"), zk.PartitionPath("t", 0)} {
		if err := st.createParents(ctx, 1, func(int) string { return path }); err != nil {
			t.Fatal(err)
		}
	}
	run(created)
	if created.Results[0].Code != machine.OK {
		t.Fatalf("create state: %v", created.Results[0])
	}
	state.LeaderEpoch++
	write := &machine.WriteStates{Writes: []machine.StateWrite{{Partition: tp, State: state}}}
	run(write)
	if r := write.Results[0]; r.Code != machine.OK || r.Version != 1 {
		t.Fatalf("write state: %+v", r)
	}
	if r := c.zk.Do(ctx, zk.Get(zk.StatePath("t", 0))); r.Version != 1 {
		t.Fatalf("the state was written %d times", r.Version)
	}
	// The same with another's write in between is a conflict.
	if r := c.zk.Do(ctx, zk.Set(zk.StatePath("t", 0), r0(t, c), zk.AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	state.Version = 1
	state.LeaderEpoch++
	write = &machine.WriteStates{Writes: []machine.StateWrite{{Partition: tp, State: state}}}
	run(write)
	if r := write.Results[0]; r.Code != machine.BadVersion {
		t.Fatalf("write over another's: %+v", r)
	}
	// A deposed controller's batch is fenced as a whole.
	if r := c.zk.Do(ctx, zk.Set(zk.ControllerEpochPath, []byte("9"), zk.AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	if err := st.run(ctx, write); !errors.Is(err, machine.ErrFenced) {
		t.Fatalf("deposed: %v", err)
	}
	s.Close(ctx)
	if err := st.run(ctx, write); !errors.Is(err, machine.ErrLost) {
		t.Fatalf("dead session: %v", err)
	}
}

// States that share multis end as they do one by one, also where a reply is
// lost, a parent exists, or another has written one of them.
func TestMergedStates(t *testing.T) {
	c := newCluster(t)
	var lose atomic.Bool
	s := c.connect(zk.Config{Dial: func(network, addr string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, addr, timeout)
		return &lossy{conn, &lose}, err
	}})
	ctx := t.Context()
	e, err := s.Elect(ctx, 1, 1)
	if err != nil || !e.Won {
		t.Fatal(e, err)
	}
	st := &store{session: s, fence: e.EpochVersion, perMulti: 10}
	const n = 25
	states := make([]machine.StateWrite, n)
	for i := range states {
		states[i] = machine.StateWrite{
			Partition: kafka.TopicPartition{Topic: "t", Partition: int32(i)},
			State:     machine.LeaderISR{Leader: 1, ISR: []kafka.BrokerID{1}, ControllerEpoch: e.Epoch},
		}
	}
	for _, path := range []string{zk.TopicPath("t"), zk.PartitionsPath("t"), zk.PartitionPath("t", 3)} {
		if r := c.zk.Do(ctx, zk.Create(path, nil)); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	lose.Store(true)
	created := &machine.CreateStates{Writes: states}
	if err := st.run(ctx, created); err != nil {
		t.Fatal(err)
	}
	check := func(what string, got []machine.WriteResult, version kafka.PartitionEpoch, but int) {
		t.Helper()
		for i, r := range got {
			if i != but && (r.Code != machine.OK || r.Version != version) {
				t.Errorf("%s of partition %d: %v, version %d", what, i, r, r.Version)
			}
		}
	}
	check("creation", created.Results, 0, -1)
	for i := range states {
		states[i].State.LeaderEpoch++
	}
	if r := c.zk.Do(ctx, zk.Set(zk.StatePath("t", 12), []byte("{}"), zk.AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	lose.Store(true)
	write := &machine.WriteStates{Writes: states}
	if err := st.run(ctx, write); err != nil {
		t.Fatal(err)
	}
	check("write", write.Results, 1, 12)
	if r := write.Results[12]; r.Code != machine.BadVersion {
		t.Errorf("a write over another's: %v", r)
	}
	if r := c.zk.Do(ctx, zk.Set(zk.ControllerEpochPath, []byte("9"), zk.AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	if err := st.run(ctx, write); !errors.Is(err, machine.ErrFenced) {
		t.Errorf("a deposed controller's: %v", err)
	}
}

func r0(t *testing.T, c *cluster) []byte {
	r := c.zk.Do(t.Context(), zk.Get(zk.StatePath("t", 0)))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.Data
}

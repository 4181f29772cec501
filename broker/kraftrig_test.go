package broker

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

const testCluster = "AAAAAAAAAAAAAAAAAAAAAg"

// kraftRig is a quorum of one voter whose controller is the test's own: it
// writes what it is asked for, with no checks but those that tests are about.
type kraftRig struct {
	t      testing.TB
	voter  raftclient.Voter
	client *raftclient.Client
	server *wire.Server
	stop   context.CancelFunc
	done   chan error
	ctx    context.Context // ends with the rig

	mu      sync.Mutex
	epoch   kafka.LeaderEpoch // led by the voter; below 0 for none
	image   *metadata.Image
	nextPID int64
	// onRegister refuses registrations; nil accepts.
	onRegister  func(*kmsg.BrokerRegistrationRequest) kafka.ErrorCode
	onHeartbeat func(*kmsg.BrokerHeartbeatRequest, *kmsg.BrokerHeartbeatResponse)
	heartbeats  map[int32]int
	forwarded   []*wire.Request
	// onAssign refuses a replica of AssignReplicasToDirs; nil accepts.
	onAssign func(partition int32) kafka.ErrorCode
}

func newKRaftRig(t testing.TB) *kraftRig {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &kraftRig{
		t: t, voter: raftclient.Voter{ID: 100, Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)},
		epoch: -1, image: metadata.Empty(), heartbeats: map[int32]int{}, done: make(chan error, 1), nextPID: 5000,
	}
	if r.client, err = raftclient.New(raftclient.Config{
		NodeID: r.voter.ID, ClusterID: testCluster, Voters: []raftclient.Voter{r.voter}, Listener: r, Dir: t.TempDir(),
		ElectionTimeout: 50 * time.Millisecond, FetchTimeout: time.Second, Logger: testLog(),
	}); err != nil {
		t.Fatal(err)
	}
	apis := append(r.client.APIs(),
		wire.API{Key: 56, MinVersion: 2, MaxVersion: 3, Handle: r.alterPartition},
		wire.API{Key: 58, MinVersion: 0, MaxVersion: 0, Handle: r.envelope},
		wire.API{Key: 62, MinVersion: 2, MaxVersion: 4, Handle: r.register},
		wire.API{Key: 63, MinVersion: 0, MaxVersion: 1, Handle: r.heartbeat},
		wire.API{Key: 67, MinVersion: 0, MaxVersion: 0, Handle: r.allocateProducerIDs},
		wire.API{Key: 73, MinVersion: 0, MaxVersion: 0, Handle: r.assignReplicas},
	)
	if r.server, err = wire.NewServer(wire.ServerConfig{APIs: apis, Listener: "CONTROLLER", Logger: testLog()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.ctx = cancel, ctx
	go func() { _ = r.server.Serve(ln) }()
	go func() { r.done <- r.client.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		closing, end := context.WithTimeout(context.Background(), deadline)
		defer end()
		if err := r.server.Close(closing); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the voter leads", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.epoch >= 0
	})
	return r
}

// HandleCommit keeps the committed image.
func (r *kraftRig) HandleCommit(batches []metalog.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := metadata.NewDelta(r.image)
	for _, b := range batches {
		for _, rec := range b.Records {
			if b.Control {
				continue
			}
			m, _, err := metadata.ReadRecord(rec.Value)
			if err == nil {
				err = d.Replay(m)
			}
			if err != nil {
				return err
			}
		}
	}
	r.image = d.Apply(batches[len(batches)-1].EndOffset()-1, 0)
	return nil
}

// HandleLoadSnapshot is never called: this rig takes no snapshots.
func (r *kraftRig) HandleLoadSnapshot(*metalog.SnapshotReader) error { return io.ErrUnexpectedEOF }

func (r *kraftRig) HandleLeaderChange(l raftclient.LeaderAndEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch = -1
	if l.Leader == r.voter.ID {
		r.epoch = l.Epoch
	}
}

// write appends records and waits until they are committed and replayed; it
// gives the offset of the last.
func (r *kraftRig) write(records ...metadata.Record) kafka.Offset {
	r.mu.Lock()
	epoch := r.epoch
	r.mu.Unlock()
	var values [][]byte
	for _, rec := range records {
		b, err := metadata.AppendRecord(nil, rec, metadata.DefaultMetadataVersion.RecordVersion(rec))
		if err != nil {
			r.t.Error(err)
		}
		values = append(values, b)
	}
	last, err := r.client.Append(epoch, values)
	if err != nil {
		if r.ctx.Err() == nil { // a broker may ask while the rig stops
			r.t.Error(err)
		}
		return kafka.NoOffset
	}
	end := time.Now().Add(deadline)
	for r.committed().Offset() < last && r.ctx.Err() == nil {
		if time.Now().After(end) {
			r.t.Errorf("offset %d is not committed", last)
			break
		}
		time.Sleep(time.Millisecond)
	}
	return last
}

func (r *kraftRig) committed() *metadata.Image {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.image
}

func (r *kraftRig) register(_ context.Context, q *wire.Request) (kmsg.Response, error) {
	req := q.Body.(*kmsg.BrokerRegistrationRequest)
	resp := kmsg.NewPtrBrokerRegistrationResponse()
	r.mu.Lock()
	refuse := r.onRegister
	r.mu.Unlock()
	if refuse != nil {
		if code := refuse(req); code != kafka.None {
			resp.ErrorCode = int16(code)
			return resp, nil
		}
	}
	rec := &metadata.RegisterBrokerRecord{
		BrokerID: kafka.BrokerID(req.BrokerID), IncarnationID: req.IncarnationID, Fenced: true,
		BrokerEpoch: kafka.BrokerEpoch(r.client.LogEndOffset()),
	}
	for _, l := range req.Listeners {
		rec.EndPoints = append(rec.EndPoints, metadata.RecordEndpoint{Endpoint: kafka.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port}})
	}
	for _, d := range req.LogDirs {
		rec.LogDirs = append(rec.LogDirs, d)
	}
	r.write(rec)
	resp.BrokerEpoch = int64(rec.BrokerEpoch)
	return resp, nil
}

func (r *kraftRig) heartbeat(_ context.Context, q *wire.Request) (kmsg.Response, error) {
	req := q.Body.(*kmsg.BrokerHeartbeatRequest)
	resp := kmsg.NewPtrBrokerHeartbeatResponse()
	reg, ok := r.committed().Broker(kafka.BrokerID(req.BrokerID))
	if !ok || int64(reg.Epoch) != req.BrokerEpoch {
		resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
		return resp, nil
	}
	r.mu.Lock()
	r.heartbeats[req.BrokerID]++
	answer := r.onHeartbeat
	r.mu.Unlock()
	resp.IsCaughtUp = req.CurrentMetadataOffset >= req.BrokerEpoch
	resp.IsFenced = reg.Fenced
	if resp.IsCaughtUp && reg.Fenced {
		r.write(&metadata.BrokerRegistrationChangeRecord{BrokerID: reg.ID, BrokerEpoch: reg.Epoch, Fenced: -1})
		resp.IsFenced = false
	}
	resp.ShouldShutdown = req.WantShutdown
	if answer != nil {
		answer(req, resp)
	}
	return resp, nil
}

func (r *kraftRig) allocateProducerIDs(context.Context, *wire.Request) (kmsg.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := kmsg.NewPtrAllocateProducerIDsResponse()
	resp.ProducerIDStart, resp.ProducerIDLen = r.nextPID, 1000
	r.nextPID += 1000
	return resp, nil
}

func (r *kraftRig) assignReplicas(_ context.Context, q *wire.Request) (kmsg.Response, error) {
	req := q.Body.(*kmsg.AssignReplicasToDirsRequest)
	resp := req.ResponseKind().(*kmsg.AssignReplicasToDirsResponse)
	img := r.committed()
	r.mu.Lock()
	refuse := r.onAssign
	r.mu.Unlock()
	var records []metadata.Record
	for _, d := range req.Directories {
		rd := kmsg.NewAssignReplicasToDirsResponseDirectory()
		rd.ID = d.ID
		for _, t := range d.Topics {
			rt := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			rt.TopicID = t.TopicID
			for _, p := range t.Partitions {
				out := kmsg.NewAssignReplicasToDirsResponseDirectoryTopicPartition()
				out.Partition = p.Partition
				if refuse != nil {
					out.ErrorCode = int16(refuse(p.Partition))
				}
				if out.ErrorCode == 0 {
					records = append(records, assignRecord(img, t.TopicID, p.Partition, kafka.BrokerID(req.BrokerID), d.ID))
				}
				rt.Partitions = append(rt.Partitions, out)
			}
			rd.Topics = append(rd.Topics, rt)
		}
		resp.Directories = append(resp.Directories, rd)
	}
	if len(records) > 0 {
		r.write(records...)
	}
	return resp, nil
}

func assignRecord(img *metadata.Image, topic kafka.UUID, partition int32, broker kafka.BrokerID, dir kafka.UUID) metadata.Record {
	t, _ := img.TopicByID(topic)
	p, _ := t.Partition(partition)
	rec := metadata.NewPartitionChange(topic, partition)
	for _, id := range p.Replicas {
		at := p.Directory(id)
		if id == broker {
			at = dir
		}
		rec.Directories = append(rec.Directories, at)
	}
	return rec
}

func (r *kraftRig) alterPartition(_ context.Context, q *wire.Request) (kmsg.Response, error) {
	req := q.Body.(*kmsg.AlterPartitionRequest)
	resp := kmsg.NewPtrAlterPartitionResponse()
	img := r.committed()
	var records []metadata.Record
	for _, t := range req.Topics {
		topic, ok := img.TopicByID(t.TopicID)
		rt := kmsg.NewAlterPartitionResponseTopic()
		rt.TopidID = t.TopicID
		for _, p := range t.Partitions {
			out := kmsg.NewAlterPartitionResponseTopicPartition()
			out.Partition = p.Partition
			out.ErrorCode = int16(kafka.UnknownTopicID)
			if ok {
				if rec := alterRecord(img, topic, &p, &out); rec != nil {
					records = append(records, rec)
				}
			}
			rt.Partitions = append(rt.Partitions, out)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if len(records) > 0 {
		r.write(records...)
	}
	return resp, nil
}

func alterRecord(img *metadata.Image, topic *metadata.Topic, p *kmsg.AlterPartitionRequestTopicPartition, out *kmsg.AlterPartitionResponseTopicPartition) metadata.Record {
	s, ok := topic.Partition(p.Partition)
	if !ok || int32(s.LeaderEpoch) != p.LeaderEpoch || int32(s.PartitionEpoch) != p.PartitionEpoch {
		out.ErrorCode = int16(kafka.InvalidUpdateVersion)
		return nil
	}
	rec := metadata.NewPartitionChange(topic.ID(), p.Partition)
	for _, m := range p.NewEpochISR {
		reg, ok := img.Broker(kafka.BrokerID(m.BrokerID))
		if !ok || reg.Fenced || int64(reg.Epoch) != m.BrokerEpoch && m.BrokerEpoch != -1 {
			out.ErrorCode = int16(kafka.IneligibleReplica)
			return nil
		}
		rec.ISR = append(rec.ISR, kafka.BrokerID(m.BrokerID))
	}
	out.ErrorCode, out.LeaderID, out.LeaderEpoch, out.PartitionEpoch = 0, int32(s.Leader), int32(s.LeaderEpoch), int32(s.PartitionEpoch)+1
	out.ISR = int32s(rec.ISR)
	return rec
}

// takeForwarded gives what was forwarded since the last call.
func (r *kraftRig) takeForwarded() []*wire.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.forwarded
	r.forwarded = nil
	return taken
}

// envelope answers a forwarded CreateTopics, and changes of configurations with
// nothing, and keeps what was forwarded.
func (r *kraftRig) envelope(_ context.Context, q *wire.Request) (kmsg.Response, error) {
	inner, err := wire.UnwrapRequest(q, q.Body.(*kmsg.EnvelopeRequest))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.forwarded = append(r.forwarded, inner)
	r.mu.Unlock()
	var req *kmsg.CreateTopicsRequest
	switch body := inner.Body.(type) {
	case *kmsg.CreateTopicsRequest:
		req = body
	case *kmsg.AlterConfigsRequest, *kmsg.IncrementalAlterConfigsRequest:
		return wire.WrapResponse(inner, body.ResponseKind()), nil
	default:
		return nil, errors.New("only CreateTopics is answered here")
	}
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewCreateTopicsResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, r.create(t.Topic, t.NumPartitions, int(t.ReplicationFactor))
		resp.Topics = append(resp.Topics, rt)
	}
	return wire.WrapResponse(inner, resp), nil
}

// create writes a topic on the registered brokers in turn, all in sync.
func (r *kraftRig) create(topic string, n int32, rf int) kafka.UUID {
	id := randomUUID()
	records := []metadata.Record{&metadata.TopicRecord{Name: topic, TopicID: id}}
	var live []kafka.BrokerID
	for b := range r.committed().Brokers() {
		live = append(live, b.ID)
	}
	for p := range n {
		var replicas []kafka.BrokerID
		for i := range rf {
			replicas = append(replicas, live[(int(p)+i)%len(live)])
		}
		records = append(records, &metadata.PartitionRecord{PartitionID: p, TopicID: id, Replicas: replicas, ISR: replicas, Leader: replicas[0]})
	}
	r.write(records...)
	return id
}

func (r *kraftRig) isr(tp kafka.TopicPartition) []kafka.BrokerID {
	s, ok := r.committed().Partition(tp)
	if !ok {
		return nil
	}
	return slices.Sorted(slices.Values(s.ISR))
}

// start brings up a broker and waits until it is unfenced.
func (r *kraftRig) start(id kafka.BrokerID, tune func(*Config)) *process {
	r.t.Helper()
	p := startProcess(r.t, id, 0, r.plane(), func(c *Config) {
		c.ClusterID = testCluster
		if tune != nil {
			tune(c)
		}
	})
	eventually(r.t, "the broker is unfenced", func() bool {
		reg, ok := p.Image().Broker(id)
		return ok && !reg.Fenced && reg.Epoch == p.Epoch()
	})
	return p
}

func (r *kraftRig) plane() Plane {
	return KRaft(KRaftConfig{
		Voters: []raftclient.Voter{r.voter}, Heartbeat: 50 * time.Millisecond, RegistrationTimeout: deadline,
		FetchTimeout: time.Second, MetadataInMemory: true,
	})
}

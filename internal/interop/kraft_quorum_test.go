package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	vocabulary "kbench/kafka"
)

// quorumState is what the leader says of the quorum.
type quorumState struct {
	leader        broker
	epoch         int32
	highWatermark int64
	voters        map[broker][16]byte // directory ids
	observers     []broker
}

// askTimeout bounds one question to a node.
const askTimeout = 5 * time.Second

// ask sends one request to a node on a connection of its own.
func (k *kraft) ask(ctx context.Context, at broker, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.addr(at)), kgo.RequestRetries(0))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return cl.SeedBrokers()[0].Request(ctx, req)
}

// brokersAt are the brokers that a broker knows and takes for alive.
func (k *kraft) brokersAt(ctx context.Context, at broker) ([]broker, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none
	reply, err := k.ask(ctx, at, req)
	if err != nil {
		return nil, err
	}
	var out []broker
	for _, b := range reply.(*kmsg.MetadataResponse).Brokers {
		out = append(out, broker(b.NodeID))
	}
	return out, nil
}

// awaitListens waits until others can reach a controller: a real one fetches, and
// so has the log, before it listens.
func (k *kraft) awaitListens(t *testing.T, id broker) {
	t.Helper()
	eventually(t, fmt.Sprintf("controller %d listens", id), func(ctx context.Context) error {
		_, err := k.ask(ctx, id, kmsg.NewPtrApiVersionsRequest())
		return err
	})
}

// describe asks one controller, which only the leader answers.
func (k *kraft) describe(ctx context.Context, at broker) (quorumState, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = vocabulary.MetadataTopic
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	reply, err := k.ask(ctx, at, req)
	if err != nil {
		return quorumState{}, err
	}
	r := reply.(*kmsg.DescribeQuorumResponse)
	if r.ErrorCode != 0 {
		return quorumState{}, kerr.ErrorForCode(r.ErrorCode)
	}
	p := r.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return quorumState{}, kerr.ErrorForCode(p.ErrorCode)
	}
	q := quorumState{leader: broker(p.LeaderID), epoch: p.LeaderEpoch, highWatermark: p.HighWatermark, voters: map[broker][16]byte{}}
	for _, v := range p.CurrentVoters {
		q.voters[broker(v.ReplicaID)] = v.ReplicaDirectoryID
	}
	for _, o := range p.Observers {
		q.observers = append(q.observers, broker(o.ReplicaID))
	}
	return q, nil
}

// quorum gives what the leader of this moment says, who must have committed
// something in its epoch.
func (k *kraft) quorum(ctx context.Context) (quorumState, error) {
	errs := []error{errors.New("no controller leads")}
	var best quorumState
	for _, id := range k.answering(k.controllers) {
		q, err := k.describe(ctx, id)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("controller %d: %w", id, err))
		case q.leader == id && q.highWatermark > 0 && q.epoch > best.epoch:
			best = q
		}
	}
	if best.epoch == 0 {
		return best, errors.Join(errs...)
	}
	return best, nil
}

// awaitQuorum waits until the leader says what is so.
func (k *kraft) awaitQuorum(t *testing.T, what string, so func(quorumState) error) quorumState {
	t.Helper()
	var q quorumState
	eventually(t, what, func(ctx context.Context) error {
		var err error
		if q, err = k.quorum(ctx); err == nil {
			err = so(q)
		}
		return err
	})
	return q
}

// awaitLeader waits for a leader among some, in an epoch after the one given.
func (k *kraft) awaitLeader(t *testing.T, after int32, among ...broker) quorumState {
	t.Helper()
	return k.awaitQuorum(t, fmt.Sprintf("a leader among %d after epoch %d", among, after), func(q quorumState) error {
		if !slices.Contains(among, q.leader) || q.epoch <= after {
			return fmt.Errorf("%d leads in epoch %d", q.leader, q.epoch)
		}
		return nil
	})
}

// awaitVoters waits until the voters are just these, and one of them leads.
func (k *kraft) awaitVoters(t *testing.T, want ...broker) quorumState {
	t.Helper()
	return k.awaitQuorum(t, fmt.Sprintf("the voters are %d", want), func(q quorumState) error {
		for _, id := range want {
			if _, ok := q.voters[id]; !ok {
				return fmt.Errorf("%d is not among %d voters", id, len(q.voters))
			}
		}
		if len(q.voters) != len(want) || !slices.Contains(want, q.leader) {
			return fmt.Errorf("there are %d voters, and %d leads", len(q.voters), q.leader)
		}
		return nil
	})
}

// awaitFollowed waits until brokers know of a topic that is made now: they
// follow whoever leads.
func (k *kraft) awaitFollowed(t *testing.T, by []broker, topic string) {
	t.Helper()
	k.tool(t, kafkaTopics, by[0], "--create", "--topic", topic, "--partitions", "1", "--replication-factor", "1")
	k.awaitTopic(t, by, topic, 1, replicated())
}

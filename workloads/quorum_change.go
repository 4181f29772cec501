package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ask"
)

const (
	quorumFollower = "follower"
	quorumLeader   = "leader"
	// dynamicQuorum is the level of kraft.version with voters that change
	// (KIP-853).
	dynamicQuorum = 1
	// raiseTimeout bounds the wait for what every voter supports.
	raiseTimeout = time.Minute
)

var quorumChange = Workload{
	Kind:   "quorum-change",
	Doc:    "remove a voter from the metadata quorum and add it again, while its process runs on (KIP-853)",
	Clock:  "removed: from the intended RemoveRaftVoter until it is acknowledged, and another controller is active where the leader removed itself; added: from the intended AddRaftVoter of the same node, which follows as an observer, until it is acknowledged. kraft.version is raised to 1 before, once",
	Params: []Param{howParam(quorumFollower, quorumLeader).says("which voter goes"), trialsParam("3"), timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, r.changeQuorum)
	},
	refuses: refusesQuorumChange,
}

// refusesQuorumChange refuses clusters in which no voter can go.
func refusesQuorumChange(s Setup, _ Params) error {
	switch {
	case s.Mode != nodeconfig.ModeKRaft:
		return errors.New("a cluster in ZooKeeper mode has no metadata quorum whose voters could change; leave the target out")
	case s.Colocated:
		return errors.New("a voter that is a broker too cannot stay when its vote goes; write a number of controllers")
	case s.Controllers < 3:
		return fmt.Errorf("%d controllers: without one of them no majority would outlive another; write controllers: 3", s.Controllers)
	}
	return nil
}

// voter is one voter of the quorum as its leader describes it.
type voter struct {
	id        kafka.BrokerID
	directory [16]byte
	listeners []kmsg.AddRaftVoterRequestListener
}

func (r *run) changeQuorum(ctx context.Context, t *trialRun) error {
	if err := t.raiseKRaftVersion(ctx); err != nil {
		return err
	}
	active, err := t.Cluster.ActiveController(ctx)
	if err != nil {
		return err
	}
	t.active(t.out.N, active.ID)
	voters, err := t.voters(ctx, active.Addr)
	if err != nil {
		return err
	}
	gone, err := t.chooseVoter(voters, active.ID)
	if err != nil {
		return err
	}
	t.phase("remove")
	t.out.Victim, t.out.StartNs = gone.id, trace.Now()
	t.event(EventFault, t.out.N, gone.id, t.out.StartNs, "RemoveRaftVoter")
	removedNs, err := t.removeVoter(ctx, gone)
	if err != nil {
		return err
	}
	t.value(MetricQuorum, PhaseRemoved, float64(removedNs-t.out.StartNs))
	t.event(EventPhase, t.out.N, gone.id, removedNs, "removed")
	t.phase("add")
	addNs := trace.Now()
	addedNs, err := t.addVoter(ctx, gone)
	if err != nil {
		return err
	}
	t.value(MetricQuorum, PhaseAdded, float64(addedNs-addNs))
	t.event(EventHealed, t.out.N, gone.id, addNs, "AddRaftVoter")
	t.event(EventRestored, t.out.N, gone.id, addedNs, "added")
	t.ended(addedNs)
	t.count("voters", int64(len(voters)))
	t.countElections(ctx)
	return nil
}

func (t *trialRun) chooseVoter(voters []voter, leader kafka.BrokerID) (voter, error) {
	var may []kafka.BrokerID
	for _, v := range voters {
		if (v.id == leader) == (t.p.How == quorumLeader) {
			may = append(may, v.id)
		}
	}
	if len(may) == 0 || len(voters) < 3 {
		return voter{}, fmt.Errorf("the quorum has %d voters, none of which can go", len(voters))
	}
	id := Victims(t.Seed+uint64(t.out.N), may, 1)[0]
	i := slices.IndexFunc(voters, func(v voter) bool { return v.id == id })
	return voters[i], nil
}

// raiseKRaftVersion lets voters change; where they may already nothing happens.
// A leader raises it when every voter has told what it supports, which each
// does once in three fetch timeouts.
func (t *trialRun) raiseKRaftVersion(ctx context.Context) error {
	t.phase(PhasePrepare)
	ctx, cancel := context.WithTimeoutCause(ctx, raiseTimeout, fmt.Errorf("not within %v", raiseTimeout))
	defer cancel()
	for {
		_, err := t.admin.insist(ctx, "raise kraft.version", t.raiseOnce)
		if !errors.Is(err, kafka.InvalidUpdateVersion) {
			return err
		}
		if pause(ctx, 500*time.Millisecond) != nil {
			return fmt.Errorf("raise kraft.version: %w: %w", context.Cause(ctx), err)
		}
	}
}

func (t *trialRun) raiseOnce(ctx context.Context, addr string, _ bool) error {
	up := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	up.Feature, up.MaxVersionLevel, up.UpgradeType = "kraft.version", dynamicQuorum, 1
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.FeatureUpdates = append(req.FeatureUpdates, up)
	resp, err := t.admin.send(ctx, addr, apiUpdateFeatures, req)
	if err != nil {
		return err
	}
	r := resp.(*kmsg.UpdateFeaturesResponse)
	for _, one := range r.Results {
		if err := judged(one.ErrorCode, one.ErrorMessage); err != nil {
			return err
		}
	}
	return judged(r.ErrorCode, r.ErrorMessage)
}

// voters asks the leader for the voters.
func (t *trialRun) voters(ctx context.Context, leader string) ([]voter, error) {
	resp, err := t.admin.send(ctx, leader, apiDescribeQuorum, ask.DescribeQuorum())
	if err != nil {
		return nil, fmt.Errorf("describe the quorum: %w", err)
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	p, err := ask.Quorum(r)
	if err != nil {
		return nil, fmt.Errorf("describe the quorum: %w", err)
	}
	var out []voter
	for _, v := range p.CurrentVoters {
		one := voter{id: kafka.BrokerID(v.ReplicaID), directory: v.ReplicaDirectoryID}
		for _, n := range r.Nodes {
			if n.NodeID != v.ReplicaID {
				continue
			}
			for _, l := range n.Listeners {
				to := kmsg.NewAddRaftVoterRequestListener()
				to.Name, to.Host, to.Port = l.Name, l.Host, l.Port
				one.listeners = append(one.listeners, to)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// leaderAddr gives where voters are changed: the active controller.
func (t *trialRun) leaderAddr(ctx context.Context) (string, error) {
	n, err := t.Cluster.ActiveController(ctx)
	return n.Addr, err
}

// removeVoter removes a voter and waits until a controller is active. A voter
// that is not there on a further try is one whose removal was acknowledged to
// nobody.
func (t *trialRun) removeVoter(ctx context.Context, v voter) (removedNs int64, err error) {
	req := kmsg.NewPtrRemoveRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID = int32(v.id), v.directory
	_, err = t.admin.insistAt(ctx, fmt.Sprintf("remove voter %d", v.id), t.leaderAddr, func(ctx context.Context, addr string, again bool) error {
		resp, err := t.admin.send(ctx, addr, apiRemoveRaftVoter, req)
		removedNs = trace.Now()
		if err != nil {
			return err
		}
		r := resp.(*kmsg.RemoveRaftVoterResponse)
		if again && kafka.ErrorCode(r.ErrorCode) == kafka.VoterNotFound {
			return nil
		}
		return quorumJudged(r.ErrorCode, r.ErrorMessage)
	})
	if err != nil || t.p.How != quorumLeader {
		return removedNs, err
	}
	next, err := t.Cluster.ActiveController(ctx)
	if err == nil && next.ID == v.id {
		err = fmt.Errorf("controller %d is active although it was removed", v.id)
	}
	return trace.Now(), err
}

func (t *trialRun) addVoter(ctx context.Context, v voter) (addedNs int64, err error) {
	req := kmsg.NewPtrAddRaftVoterRequest()
	req.TimeoutMillis = int32(createTimeout.Milliseconds())
	req.VoterID, req.VoterDirectoryID, req.Listeners = int32(v.id), v.directory, v.listeners
	_, err = t.admin.insistAt(ctx, fmt.Sprintf("add voter %d", v.id), t.leaderAddr, func(ctx context.Context, addr string, again bool) error {
		resp, err := t.admin.send(ctx, addr, apiAddRaftVoter, req)
		addedNs = trace.Now()
		if err != nil {
			return err
		}
		r := resp.(*kmsg.AddRaftVoterResponse)
		if again && kafka.ErrorCode(r.ErrorCode) == kafka.DuplicateVoter {
			return nil
		}
		return quorumJudged(r.ErrorCode, r.ErrorMessage)
	})
	return addedNs, err
}

// quorumJudged is judged where the quorum answers: a node that does not lead any
// more says NOT_LEADER_OR_FOLLOWER.
func quorumJudged(code int16, message *string) error {
	if c := kafka.ErrorCode(code); c == kafka.NotLeaderOrFollower {
		return c
	}
	return judged(code, message)
}

// countElections tells how many controllers were elected since the start: none
// where a follower went, as long as nobody disturbs.
func (t *trialRun) countElections(ctx context.Context) {
	events, err := t.Cluster.Events(ctx)
	if err != nil || len(events) == 0 {
		return // nodes without traces
	}
	n := int64(0)
	for _, e := range eventsSince(events, t.out.StartNs) {
		if e.Kind == trace.ControllerElected {
			n++
		}
	}
	t.count("elections", n)
}

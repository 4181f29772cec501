package workloads

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka/ask"
)

const (
	// heirRate is how often brokers are asked for the leader of a quorum: what
	// comes of it is late by 20 ms at most.
	heirRate = 50
	// heirTimeout bounds one question. A broker may hold it for as long as there is
	// no leader, so each has a connection of its own, and there are maxHeirAsked.
	heirTimeout  = 3 * time.Second
	maxHeirAsked = heirRate * 3
)

// succession is what brokers tell of who is the controller while one goes. Where
// nodes write no traces nothing else proves that the fault bit, nor whether an
// admin request was the old controller's last or its heir's first.
type succession struct {
	mu     sync.Mutex
	known  bool  // who was the controller at first
	heirNs int64 // when another was told of first; 0: none yet

	leader, epoch int32 // of a quorum at first

	cancel context.CancelFunc // nil where nobody asks
	done   chan struct{}
}

// told hears whether a broker tells of another controller than the first.
func (s *succession) told(another bool, ns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = s.known || !another
	if another && s.heirNs == 0 {
		s.heirNs = ns
	}
}

// led hears who leads a quorum.
func (s *succession) led(leader, epoch int32, ns int64) {
	s.mu.Lock()
	if !s.known {
		s.leader, s.epoch = leader, epoch
	}
	another := leader != s.leader && epoch > s.epoch
	s.mu.Unlock()
	s.told(another, ns)
}

func (s *succession) started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// heir gives when another controller was told of first.
func (s *succession) heir() (ns int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heirNs, s.heirNs != 0
}

// ask has brokers in turn tell who leads the quorum, until stop.
func (s *succession) ask(ctx context.Context, a *admin, brokers []Node) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		var wg sync.WaitGroup
		room := make(chan struct{}, maxHeirAsked)
		drive(ctx, trace.Now(), 0, Constant{heirRate}, func(o op) bool {
			select {
			case room <- struct{}{}:
			default:
				return false
			}
			wg.Go(func() {
				defer func() { <-room }()
				s.askOne(ctx, a, brokers[int(o.n)%len(brokers)].Addr)
			})
			return true
		})
		wg.Wait()
	}()
}

// askOne asks one broker. One that does not know tells nothing.
func (s *succession) askOne(ctx context.Context, a *admin, addr string) {
	ctx, cancel := context.WithTimeout(ctx, heirTimeout)
	defer cancel()
	resp, err := a.send(ctx, addr, apiDescribeQuorum, ask.DescribeQuorum())
	if err != nil {
		return
	}
	if p, err := ask.Quorum(resp.(*kmsg.DescribeQuorumResponse)); err == nil && p.LeaderID >= 0 {
		s.led(p.LeaderID, p.LeaderEpoch, trace.Now())
	}
}

// stop ends the questions. It may be called again.
func (s *succession) stop() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
}

// follow begins to listen to who the controller is, where no trace will tell.
func (t *failover) follow(ctx context.Context) error {
	events, err := t.Cluster.Events(ctx)
	if err != nil || len(events) > 0 {
		return err
	}
	t.heirs = &succession{}
	if !t.zk() { // in ZooKeeper mode the probes ask, and the answers name it
		t.heirs.ask(ctx, t.admin, t.others)
	}
	return nil
}

// succeeded waits until brokers tell of another controller and gives when the
// first did. Its error says that the fault did not bite.
func (t *failover) succeeded(ctx context.Context) (ns int64, err error) {
	err = await(ctx, t.p.TrialTimeout, "brokers to tell of another controller", func() (ok bool) {
		ns, ok = t.heirs.heir()
		return ok
	})
	if err == nil && ns < t.out.StartNs {
		err = errors.New("it was not the controller any more when the fault came")
	}
	return ns, err
}

package harness

import (
	"context"
	"math"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
)

const (
	// mostLost bounds the datagrams that tell of a loss: so many that it takes this
	// many on the average. It takes none of them one time in 500 million.
	mostLost = 20
	// fewestRound spares a loss of many packets the waits of tiny rounds.
	fewestRound = 50
	// heardEvery is how often the other side is asked what came.
	heardEvery = 5 * time.Millisecond
)

// lossLook looks for a loss between two nodes by datagrams.
type lossLook struct {
	from, to *agent.Client
	token    string
	share    float64
	// perRound is how many are lost in a round on the average: after each, enough
	// says whether what was lost so far tells all there is to tell.
	perRound float64
	enough   func(lost, sent int) bool
	within   time.Duration // that a datagram takes at most
}

// lateness is how long after the others a datagram may come in a network with
// faults.
func lateness(faults []netfault.Fault) time.Duration {
	late := time.Duration(0)
	for _, f := range faults {
		late += f.Delay + f.Jitter
	}
	return late
}

// run sends rounds of datagrams and counts those that were lost.
func (l lossLook) run(ctx context.Context) (lost, sent int, err error) {
	round := max(int(math.Ceil(l.perRound/l.share)), fewestRound)
	most := max(int(math.Ceil(mostLost/l.share)), round)
	for sent == 0 || sent < most && !l.enough(lost, sent) {
		n := min(round, most-sent)
		if err := l.from.Send(ctx, l.to.Here(), l.token, n); err != nil {
			return lost, sent, err
		}
		sent += n
		if lost, err = l.missing(ctx, sent, lost); err != nil {
			return lost, sent, err
		}
	}
	return lost, sent, nil
}

// missing counts the datagrams that have not come of those sent, of which some
// are known to be lost, and waits for the others as long as they may take.
func (l lossLook) missing(ctx context.Context, sent, lost int) (int, error) {
	for deadline := time.Now().Add(l.within); ; {
		heard, err := l.to.Heard(ctx, l.token)
		if err != nil || sent-heard <= lost || time.Now().After(deadline) {
			return sent - heard, err
		}
		select {
		case <-ctx.Done():
			return sent - heard, context.Cause(ctx)
		case <-time.After(heardEvery):
		}
	}
}

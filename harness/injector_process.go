package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/trace"
	"kbench/kafka/wire"
	"kbench/workloads"
)

// askWithin bounds one question to a process: an idle machine answers in less
// than a millisecond.
const askWithin = time.Second

// answers asks a process for something small: a node for its API versions, a
// server of ZooKeeper for its mode.
func (s subject) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if s.node == nil {
		_, err := zookeeper.Ask(ctx, s.addr)
		return err
	}
	// A node tells its versions to who has not logged in, too.
	conn, err := wire.Dial(ctx, s.addr, wire.DialOptions{ClientID: "kbench-probe", TLS: s.tls})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Request(ctx, kmsg.NewPtrApiVersionsRequest())
	return err
}

// awaitAnswers waits until every subject answers.
func awaitAnswers(ctx context.Context, on []subject) error {
	return each(on, func(s subject) error {
		return poll(ctx, s.proc.Name()+" answers", func(ctx context.Context) error {
			if !s.proc.Running() {
				return final{errors.New("it has exited")}
			}
			return s.answers(ctx)
		})
	})
}

// answered waits until every subject answers, for as long as a busy machine may
// take.
func (in *injector) answered(ctx context.Context, on []subject) error {
	ctx, cancel := context.WithTimeoutCause(ctx, passWithin, fmt.Errorf("not within %v", passWithin))
	defer cancel()
	return awaitAnswers(ctx, on)
}

// each does something to every subject at once and gives all their errors.
func each(on []subject, do func(subject) error) error {
	errs := make([]error, len(on))
	var g errgroup.Group
	for i, s := range on {
		g.Go(func() error {
			if err := do(s); err != nil {
				errs[i] = fmt.Errorf("%s: %w", s.proc.Name(), err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

// signal sends a signal to every subject, which must answer before.
func (in *injector) signal(ctx context.Context, on []subject, sig provider.Signal) (sentNs int64, err error) {
	if err := in.answered(ctx, on); err != nil {
		return 0, fmt.Errorf("before the fault: %w", err)
	}
	in.exclude(on, true)
	sentNs = trace.Now()
	return sentNs, each(on, func(s subject) error { _, err := s.proc.Signal(ctx, sig); return err })
}

// endProcess stops or kills: it bites when the process has exited, and heals when
// one that was started again answers.
func (in *injector) endProcess(ctx context.Context, f workloads.TimedFault, on []subject) (made, error) {
	sig := provider.Kill
	if f.Fault == workloads.FaultStop {
		sig = provider.Term
	}
	sent, err := in.signal(ctx, on, sig)
	if err == nil {
		err = each(on, func(s subject) error { _, _, err := s.proc.Wait(ctx); return err })
	}
	if err != nil {
		return made{}, err
	}
	return made{sentNs: sent, end: func(ctx context.Context) (int64, error) { return in.startAgain(ctx, on) }}, nil
}

// restart stops and starts as soon as the process has exited; it is over when it
// answers.
func (in *injector) restart(ctx context.Context, f workloads.TimedFault, on []subject) (made, error) {
	f.Fault = workloads.FaultStop
	return in.endProcess(ctx, f, on)
}

// startAgain starts what has exited and waits until it answers.
func (in *injector) startAgain(ctx context.Context, on []subject) (int64, error) {
	now := trace.Now()
	err := each(on, func(s subject) error {
		if err := s.proc.Start(ctx); err != nil {
			return err
		}
		if s.node != nil {
			in.c.started(s.node)
		}
		if in.c.networked {
			return in.setNet(ctx, s.proc) // a container that was started again has a new network
		}
		return nil
	})
	if err != nil {
		return now, err
	}
	if err := awaitAnswers(ctx, on); err != nil {
		return now, err
	}
	in.exclude(on, false)
	return now, nil
}

// pause stops a process where it stands: requests get no answer.
func (in *injector) pause(ctx context.Context, _ workloads.TimedFault, on []subject) (made, error) {
	sent, err := in.signal(ctx, on, provider.Pause)
	resume := func(ctx context.Context) (int64, error) {
		now := trace.Now()
		if err := each(on, func(s subject) error { _, err := s.proc.Signal(ctx, provider.Resume); return err }); err != nil {
			return now, err
		}
		if err := awaitAnswers(ctx, on); err != nil {
			return now, err
		}
		in.exclude(on, false)
		return now, nil
	}
	if err == nil {
		err = each(on, func(s subject) error {
			if s.answers(ctx) == nil {
				return errors.New("it answers although it is paused")
			}
			return ctx.Err()
		})
	}
	if err != nil {
		back, cancel := undoing(ctx)
		defer cancel()
		_, rerr := resume(back)
		return made{}, errors.Join(err, rerr)
	}
	return made{sentNs: sent, end: resume}, nil
}

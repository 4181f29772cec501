package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
)

// TimedFault is a fault on the timeline of a load: it is made at an offset from
// the load's start and undone after a time, whatever the load does meanwhile.
type TimedFault struct {
	Fault Fault
	// On names whom it meets: roles or processes, as in Roles. FaultSplit has
	// them on one side and everybody else on the other.
	On  []string
	At  time.Duration // from the load's start
	For time.Duration // until it is undone; 0 for what undoes itself

	Delay         time.Duration // of FaultDelay and FaultFsyncDelay
	Jitter        time.Duration // of FaultDelay, at most Delay
	LossPerMille  int           // of FaultLoss
	KbitPerSecond int           // of FaultRate
	CPUPercent    int           // of FaultCPU: of one processor
}

// Beside reports whether two faults may stand on one node at once: those that
// make it slow, each in another way. While any other stands a node does not
// answer as it should, so that the second could not be made at its time, or not
// be seen.
func (f Fault) Beside(o Fault) bool {
	slow := []Fault{FaultDelay, FaultLoss, FaultRate, FaultFsyncDelay, FaultCPU}
	return f != o && slices.Contains(slow, f) && slices.Contains(slow, o)
}

// BesideDoc says so to users.
const BesideDoc = "one node takes delay, loss, rate, fsync-delay and cpu at once, and any other fault alone"

// String is the fault in the words of a spec, without its times.
func (f TimedFault) String() string {
	s := string(f.Fault)
	switch f.Fault {
	case FaultDelay, FaultFsyncDelay:
		s += fmt.Sprintf(" of %v", f.Delay)
		if f.Jitter > 0 {
			s += fmt.Sprintf(" ± %v", f.Jitter)
		}
	case FaultLoss:
		s += fmt.Sprintf(" of %d in 1,000", f.LossPerMille)
	case FaultRate:
		s += fmt.Sprintf(" of %d kbit/s", f.KbitPerSecond)
	case FaultCPU:
		s += fmt.Sprintf(" of %d %%", f.CPUPercent)
	}
	return s + " on " + strings.Join(f.On, ", ")
}

// Injector makes timed faults. The harness gives a workload one that knows the
// running cluster.
type Injector interface {
	// Begin makes the fault and returns when its own probe saw it bite. The
	// error says what kept it; then nothing is wrong any more.
	Begin(ctx context.Context, f TimedFault) (Standing, error)
}

// Standing is a fault under way.
type Standing struct {
	Node          kafka.BrokerID // the first node that it meets; 0 where that has no id
	Names         []string       // of the processes that it meets
	SentNs, BitNs int64          // CLOCK_MONOTONIC: when it was made, and when it was seen to bite
	// End undoes the fault and returns when its own probe saw everything heal:
	// the stamps of both.
	End func(ctx context.Context) (undoneNs, healedNs int64, err error)
}

// healWithin bounds the undoing of one fault of a timeline.
const healWithin = 2 * time.Minute

// maxFaultLate is how late a fault may be made: later, the timeline is another
// than the spec's.
const maxFaultLate = 5 * time.Second

// timeline plays the faults of a spec beside a load.
type timeline struct {
	trial *trialRun
	wg    sync.WaitGroup

	mu      sync.Mutex
	errs    []error
	windows []window // of the faults that bit
	healed  int
}

// window is the time of a fault, from when it was made until everything was seen
// to have healed; CLOCK_MONOTONIC ns.
type window struct{ fromNs, toNs int64 }

// playFaults starts the timeline of the environment at startNs, the start of the
// trial's load. Its end must be awaited by join.
func (t *trialRun) playFaults(ctx context.Context, startNs int64) *timeline {
	l := &timeline{trial: t}
	for _, f := range t.Faults {
		l.wg.Go(func() {
			if err := l.play(ctx, startNs, f); err != nil {
				l.failed(f, err)
			}
		})
	}
	return l
}

// failed keeps why a fault does not count.
func (l *timeline) failed(f TimedFault, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, fmt.Errorf("%v at %v: %w", f, f.At, err))
}

// play makes one fault and undoes it. It is undone also where ctx has ended: a
// cluster is never left with it.
func (l *timeline) play(ctx context.Context, startNs int64, f TimedFault) error {
	if l.trial.Injector == nil {
		return errors.New("this cluster takes no timed faults")
	}
	if pause(ctx, time.Duration(startNs+int64(f.At)-trace.Now())) != nil {
		return nil // an interrupt says more than that it never came to it
	}
	s, err := l.trial.Injector.Begin(ctx, f)
	if err != nil {
		return err
	}
	if late := time.Duration(s.SentNs-startNs) - f.At; late > maxFaultLate {
		l.failed(f, fmt.Errorf("made %v late, since what it meets did not answer before", late.Round(time.Millisecond)))
	}
	how := fmt.Sprintf("%s (%s)", f, strings.Join(s.Names, ", "))
	l.trial.event(EventFault, l.trial.out.N, s.Node, s.SentNs, "%s", how)
	l.trial.event(EventPhase, l.trial.out.N, s.Node, s.BitNs, "%s: seen to bite", how)
	l.mu.Lock()
	at := len(l.windows)
	l.windows = append(l.windows, window{s.SentNs, math.MaxInt64})
	l.mu.Unlock()
	_ = pause(ctx, time.Duration(s.SentNs+int64(f.For)-trace.Now()))
	over, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), healWithin, fmt.Errorf("not within %v", healWithin))
	defer cancel()
	undone, healed, err := s.End(over)
	if err != nil {
		return fmt.Errorf("undo it: %w", err)
	}
	l.trial.event(EventHealed, l.trial.out.N, s.Node, undone, EndOf+"%s", how)
	l.trial.event(EventRestored, l.trial.out.N, s.Node, healed, EndOf+"%s", how)
	l.mu.Lock()
	l.windows[at].toNs = healed
	l.healed++
	l.mu.Unlock()
	return nil
}

// EndOf begins the details of the events that end a fault of a timeline; the
// detail of its beginning follows.
const EndOf = "end of "

// join waits until every fault is undone, and makes the trial invalid where one
// did not bite or did not heal. It keeps their counts and windows.
func (l *timeline) join() {
	l.wg.Wait()
	l.trial.windows = l.windows
	if len(l.trial.Faults) == 0 {
		return
	}
	l.trial.count("faults.bit", int64(len(l.windows)))
	l.trial.count("faults.healed", int64(l.healed))
	slices.SortFunc(l.errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	for _, err := range l.errs {
		l.trial.invalid("fault: %v", err)
	}
}

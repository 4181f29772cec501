package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

// run is one workload under way; the workload's goroutine owns it.
type run struct {
	Env
	w     Workload
	p     Params
	label string
	admin *admin

	tries   int  // trials begun
	slipped bool // the last trial recorded was invalid for its generator alone
	spare   int  // trials that may still be run in place of slipped ones
}

var labelForm = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,100}$`)

func newRun(w Workload, env Env, p Params) (*run, error) {
	if env.Cluster == nil || env.Recorder == nil {
		return nil, errors.New("a workload needs a cluster and a recorder")
	}
	// The clock makes names unique where one kind comes twice with one label.
	label := strconv.FormatInt(trace.Now()/int64(time.Millisecond), 36)
	if env.Label != "" {
		label = env.Label + "." + label
	}
	if !labelForm.MatchString(label) {
		return nil, fmt.Errorf("label %q is not 1 to 100 letters, digits, dots or dashes", label)
	}
	return &run{Env: env, w: w, p: p, label: label, admin: newAdmin(env.Cluster), spare: p.Events()}, nil
}

func (r *run) close() { r.admin.close() }

// trial runs one trial, and again where its generator slipped, as long as
// there are spare trials: as many as the workload has. It is a rule
// fixed beforehand, and each try is recorded.
func (r *run) trial(try func() error) error {
	for {
		r.slipped = false
		if err := try(); err != nil || !r.slipped || r.spare == 0 {
			return err
		}
		r.spare--
	}
}

func (r *run) progress(trial int, phase string, done, total int) {
	if r.Progress != nil {
		r.Progress(Progress{Workload: r.w.Kind, Trial: trial, Trials: r.p.Trials * max(r.p.Kills, 1), Phase: phase, Done: done, Total: total})
	}
}

// active tells which node the cluster has for its controller.
func (r *run) active(trial int, node kafka.BrokerID) {
	r.event(EventController, trial, node, trace.Now(), "named by the cluster")
}

func (r *run) event(kind string, trial int, node kafka.BrokerID, ns int64, format string, args ...any) {
	r.Recorder.Event(Event{
		Ns: ns, Kind: kind, Workload: r.w.Kind, Trial: trial, Node: node, Detail: fmt.Sprintf(format, args...),
	})
}

// topicPrefix begins the names of the topics of the trial under way, others
// each time one is tried.
func (r *run) topicPrefix() string {
	kind := r.w.Kind
	if r.p.How != "" {
		kind += "-" + r.p.How
	}
	return fmt.Sprintf("%s%s-%s-%d", r.Prefix, kind, r.label, r.tries)
}

// own takes the topics of others out of an answer, where the cluster has some.
func (r *run) own(m *kmsg.MetadataResponse) *kmsg.MetadataResponse {
	if r.Prefix != "" {
		m.Topics = slices.DeleteFunc(m.Topics, func(t kmsg.MetadataResponseTopic) bool {
			return t.Topic == nil || !strings.HasPrefix(*t.Topic, r.Prefix)
		})
	}
	return m
}

// healthy waits for the cluster's health, bounded by the trial timeout.
func (r *run) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.p.TrialTimeout)
	defer cancel()
	return r.Cluster.WaitHealthy(ctx)
}

// replication is the replicas of topics that a workload creates for itself.
func (r *run) replication() int16 { return int16(min(3, len(r.Cluster.Brokers()))) }

// victims lists the broker that each trial of the workload hurts.
func (r *run) victims() []kafka.BrokerID {
	return Victims(r.Seed, brokerIDs(r.Cluster), r.p.Trials)
}

func brokerIDs(c Cluster) []kafka.BrokerID {
	var ids []kafka.BrokerID
	for _, b := range c.Brokers() {
		ids = append(ids, b.ID)
	}
	return ids
}

// StandIn is the broker that is hurt in place of a victim that is the active
// controller: the next one in the list, which holds the victim.
func StandIn(victim kafka.BrokerID, brokers []kafka.BrokerID) kafka.BrokerID {
	return brokers[(slices.Index(brokers, victim)+1)%len(brokers)]
}

// Victims lists the broker that each trial hurts: brokers in a seeded order,
// each once before any comes again. A trial swaps its victim for the next one
// where the victim is the active controller.
func Victims(seed uint64, brokers []kafka.BrokerID, trials int) []kafka.BrokerID {
	if len(brokers) == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, streamVictims))
	var out []kafka.BrokerID
	for len(out) < trials {
		round := slices.Clone(brokers)
		rng.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		// The same broker twice in a row is spared where there is another.
		if n := len(out); n > 0 && len(round) > 1 && round[0] == out[n-1] {
			round[0], round[1] = round[1], round[0]
		}
		out = append(out, round...)
	}
	return out[:trials]
}

package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kbench/harness/provider"
	"kbench/internal/checker"
	"kbench/internal/nodeconfig"
	"kbench/internal/quorumlog"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// voterLogs gives the metadata logs of all our voters; where they are not read,
// why says so. There are none in ZooKeeper mode and under real controllers.
func (c *cluster) voterLogs() (voters []quorumlog.Voter, why string) {
	if c.mode != nodeconfig.ModeKRaft {
		return nil, ""
	}
	live := map[kafka.BrokerID]bool{}
	for _, n := range c.Controllers() {
		live[n.ID] = n.Live
	}
	for _, n := range c.nodes {
		if !n.racer || n.kafka {
			continue
		}
		j, ok := provider.As[journaled](n.proc)
		if !ok {
			return nil, "the metadata logs are not on this machine's file system"
		}
		dir := j.DataDir()
		if size := sizeOf(dir); size > maxJournal {
			return nil, fmt.Sprintf("the metadata log of node %d has %d MiB, more than %d", n.id, size>>20, maxJournal>>20)
		}
		voters = append(voters, quorumlog.Voter{ID: n.controllerID(), Dir: filepath.Join(dir, nodeconfig.MetadataDir, metalog.PartitionDir), Stopped: !live[n.id]})
	}
	return voters, ""
}

// judgeQuorum judges the metadata logs of all voters, and keeps them in the run
// folder, so that they can be judged again. A voter that came back a moment ago
// may hold on to an end that nobody took, and one that runs may change its files
// between two reads, so a look that fails is repeated, for settleTimeout at most.
func (run *cellRun) judgeQuorum(ctx context.Context) error {
	voters, why := run.cluster.voterLogs()
	if why != "" {
		run.unjudged(quorumlog.ResultName, why)
	}
	if len(voters) == 0 {
		return nil
	}
	traced, err := run.cluster.Events(ctx)
	if err != nil {
		return fmt.Errorf("keep the logs of the quorum: %w", err)
	}
	f, err := os.Create(filepath.Join(run.w.Dir(), run.stem()+quorumlog.FileSuffix))
	if err != nil {
		return fmt.Errorf("keep the logs of the quorum: %w", err)
	}
	var r checker.Result
	var last error
	_ = settle(ctx, "the voters agree", func(context.Context) error { // the last look counts
		r, last = lookAtQuorum(f, voters, traced)
		if last == nil && !r.OK() {
			return errUnsettled
		}
		return last
	})
	if err := errors.Join(last, f.Close()); err != nil {
		return err
	}
	run.checked(r)
	return nil
}

// lookAtQuorum takes the logs into an emptied file and judges that.
func lookAtQuorum(f *os.File, voters []quorumlog.Voter, traced []trace.Event) (checker.Result, error) {
	if err := f.Truncate(0); err != nil {
		return checker.Result{}, err
	}
	for _, do := range []func() error{
		func() error { return rewind(f) },
		func() error { return quorumlog.Store(f, voters, traced) },
		func() error { return rewind(f) },
	} {
		if err := do(); err != nil {
			return checker.Result{}, err
		}
	}
	return quorumlog.Judge(f)
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

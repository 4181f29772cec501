package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kbench/harness/provider"
	"kbench/workloads"
)

const (
	// profileLasts is how much of a workload's first trial the CPU profiles cover.
	profileLasts = 5 * time.Second
	// profileWithin bounds the answer beyond that.
	profileWithin = 20 * time.Second
	// dumpWithin bounds how long a JVM takes to write its recording.
	dumpWithin = 30 * time.Second
)

// layProfiles gives every node of kbench an address for its profiles, and has
// the JVMs record themselves.
func (run *cellRun) layProfiles(ctx context.Context, members []member) error {
	if !run.Profile {
		return nil
	}
	for i := range members {
		m := &members[i]
		if m.kafka != nil {
			m.kafka.Record = true
			continue
		}
		host, ports, err := run.provider.Reserve(ctx, m.cfg.Name, 1)
		if err != nil {
			return err
		}
		m.cfg.Profile.Host, m.cfg.Profile.Port = host, ports[0]
	}
	run.out.Notes = append(run.out.Notes, "the nodes were profiled, which takes time of theirs: compare such a run with no other")
	return nil
}

// profiling takes profiles of kbench's nodes in one workload. A nil one takes none.
type profiling struct {
	run   *cellRun
	kind  string
	dir   string
	begun sync.Once
	wg    sync.WaitGroup
}

// profile prepares to profile a workload. That it cannot be is told and does no
// harm.
func (run *cellRun) profile(kind string) *profiling {
	if !run.Profile {
		return nil
	}
	dir, err := run.w.NodesDir(run.stem())
	if err != nil {
		run.say("warning: no profiles: " + err.Error())
		return nil
	}
	return &profiling{run: run, kind: kind, dir: dir}
}

// reached hears of the workload's phases. CPU profiles begin with the first one
// after it has found the cluster healthy and prepared what it needs; heap
// profiles follow them.
func (p *profiling) reached(ctx context.Context, phase string) {
	if p == nil || phase == workloads.PhaseGate || phase == workloads.PhasePrepare {
		return
	}
	p.begun.Do(func() {
		for proc, addr := range p.run.cluster.profiles {
			p.wg.Go(func() { p.take(ctx, proc.Name(), addr) })
		}
	})
}

// take writes the profiles of one node. What cannot be had, such as that of a
// node that a fault ends, is told and does no harm.
func (p *profiling) take(ctx context.Context, node, addr string) {
	base := filepath.Join(p.dir, node+"."+p.kind)
	err := fetchProfile(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, int(profileLasts.Seconds())), base+".cpu.pprof")
	if err == nil {
		err = fetchProfile(ctx, "http://"+addr+"/debug/pprof/heap", base+".heap.pprof")
	}
	if err != nil && ctx.Err() == nil {
		p.run.say(fmt.Sprintf("no whole profile of %s in %s: %v", node, p.kind, err))
	}
}

// wait waits until the profiles are written.
func (p *profiling) wait() {
	if p != nil {
		p.wg.Wait()
	}
}

// takeRecording keeps what a node's JVM recorded of itself, and does no harm
// where that fails.
func (run *cellRun) takeRecording(ctx context.Context, proc provider.Node, dir string) {
	r, ok := provider.As[provider.Recorder](proc)
	if !ok || !run.Profile {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dumpWithin)
	defer cancel()
	if err := r.DumpRecording(ctx, filepath.Join(dir, proc.Name()+".jfr")); err != nil {
		run.say(fmt.Sprintf("warning: no flight recording of %s: %v", proc.Name(), err))
	}
}

// fetchProfile writes what url answers to a file, whole or not at all.
func fetchProfile(ctx context.Context, url, file string) error {
	ctx, cancel := context.WithTimeout(ctx, profileLasts+profileWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return os.WriteFile(file, b, 0o644)
}

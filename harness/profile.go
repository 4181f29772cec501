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
)

const (
	// profileLasts is how much of a workload the CPU profiles cover, from its
	// beginning.
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

// profile takes CPU profiles of kbench's nodes from the beginning of a workload
// on, and heap profiles after them. wait waits until they are written. What
// cannot be had, such as the profile of a node that a fault ends, is told and
// does no harm.
func (run *cellRun) profile(ctx context.Context, kind string) (wait func()) {
	if !run.Profile {
		return func() {}
	}
	dir, err := run.w.NodesDir(run.stem())
	if err != nil {
		run.say("warning: no profiles: " + err.Error())
		return func() {}
	}
	var wg sync.WaitGroup
	for proc, addr := range run.cluster.profiles {
		wg.Go(func() {
			base := filepath.Join(dir, proc.Name()+"."+kind)
			err := fetchProfile(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, int(profileLasts.Seconds())), base+".cpu.pprof")
			if err == nil {
				err = fetchProfile(ctx, "http://"+addr+"/debug/pprof/heap", base+".heap.pprof")
			}
			if err != nil && ctx.Err() == nil {
				run.say(fmt.Sprintf("no whole profile of %s in %s: %v", proc.Name(), kind, err))
			}
		})
	}
	return wg.Wait
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

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
)

const (
	// profileLasts is how much of a workload the CPU profiles cover, from its
	// beginning.
	profileLasts = 5 * time.Second
	// profileWithin bounds the answer beyond that.
	profileWithin = 20 * time.Second
	// flightRecording has a JVM record itself, into a ring of files.
	flightRecording = "-XX:StartFlightRecording=settings=profile,maxsize=64m"
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
			m.kafka.Record, m.kafka.JVM = true, append([]string{flightRecording}, m.kafka.JVM...)
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

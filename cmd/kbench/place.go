package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kbench/harness/kafka"
	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
	"kbench/harness/netns"
	"kbench/harness/process"
	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/harness/zookeeper"
	"kbench/results"
)

// place is where the nodes of a run live.
type place struct {
	provider string // process, docker, or none where nothing is started
	why      string // why auto chose it
	warnings []string
	open     func(ctx context.Context, name string) (provider.Provider, error)
}

// defaultDataDir is a directory of this user that is rarely on memory.
func defaultDataDir() string {
	name := fmt.Sprintf("kbench-%d", os.Getuid())
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		return filepath.Join("/var/tmp", name)
	}
	return filepath.Join(os.TempDir(), name)
}

// findPlace resolves the provider and checks what it needs, so that a run does
// not fail after its first cluster.
func findPlace(ctx context.Context, s *spec.Spec, wanted spec.Provider, f runFlags) (place, error) {
	var p place
	switch {
	case slices.Equal(s.Targets, []spec.Target{spec.AttachTarget}):
		p = attachedPlace()
	case wanted == spec.ProviderDocker:
		if _, err := askDocker(ctx); err != nil {
			return p, fmt.Errorf("provider docker: %w", err)
		}
		p = dockerPlace()
	case wanted == spec.ProviderAuto:
		if version, err := askDocker(ctx); err == nil {
			p = dockerPlace()
			p.why = "a Docker engine answers: " + version
		} else {
			p = processPlace(f)
			p.why = err.Error()
		}
	default:
		p = processPlace(f)
	}
	return p, p.admit(ctx, s)
}

// admit checks what a spec needs of the place, and keeps what the run's readers
// must know.
func (p *place) admit(ctx context.Context, s *spec.Spec) error {
	warnings, replicas := checkReplicas(s, *p, kafka.SystemLimits())
	unused, client := checkClient(s)
	p.warnings = append(append(p.warnings, warnings...), unused...)
	return errors.Join(checkStore(s, *p), checkKafka(ctx, s, *p), checkNetwork(s, *p), client, replicas)
}

// checkNetwork looks whether links between nodes can be cut, or be as poor as
// the spec wants them. Containers have a network each in any case.
func checkNetwork(s *spec.Spec, p place) error {
	if p.provider != "process" {
		return nil
	}
	for _, c := range s.Cells() {
		if !c.Networked() {
			continue
		}
		if err := netns.Check(); err != nil {
			return fmt.Errorf("%s: every node needs a network of its own: %w; or use --provider docker", whyNetworked(s, c), err)
		}
		faults := append(c.Config.Network.Faults(), netfault.Isolation())
		if c.Config.Network.Delay == 0 && c.Slows() {
			faults = append(faults, netfault.Fault{Kind: netfault.Delay, Delay: time.Millisecond})
		}
		if err := netns.Try(func() error { return agent.Check(faults) }); err != nil {
			return fmt.Errorf("%s: %w", whyNetworked(s, c), err)
		}
	}
	return nil
}

// whyNetworked names what needs a network for each node.
func whyNetworked(s *spec.Spec, c spec.Cell) string {
	if i := slices.IndexFunc(s.Workloads, spec.Workload.Severs); i >= 0 && c.Config.Network == (spec.NetworkTuning{}) {
		return fmt.Sprintf("workload %s, how: %s", s.Workloads[i].Kind, s.Workloads[i].Params.How)
	}
	if c.Config.Network == (spec.NetworkTuning{}) {
		return "faults of the network on the timeline of cell " + c.ID
	}
	return "network settings of cell " + c.ID
}

// checkStore looks for a real ZooKeeper where the spec insists on one.
func checkStore(s *spec.Spec, p place) error {
	if p.provider != "process" {
		return nil
	}
	for _, c := range s.Cells() {
		real := c.Target.Kafka() != "" // which has no other store
		if c.Target.InZooKeeper() && (real || c.Config.Cluster.Store == spec.StoreZooKeeper) {
			_, err := zookeeper.Find()
			switch {
			case err != nil && real:
				return fmt.Errorf("target %s: %w", c.Target, err)
			case err != nil:
				return fmt.Errorf("store zookeeper: %w; or use --store embedded", err)
			}
			return nil
		}
	}
	return nil
}

// attachedPlace is that of clusters which are there already: no node is started.
func attachedPlace() place {
	return place{
		provider: results.NoProvider,
		why:      "the cluster was there before",
		open: func(context.Context, string) (provider.Provider, error) {
			return nil, errors.New("a run that attaches starts no node")
		},
	}
}

func processPlace(f runFlags) place {
	return place{
		provider: "process",
		open: func(_ context.Context, name string) (provider.Provider, error) {
			binary, err := os.Executable()
			if err != nil {
				return nil, fmt.Errorf("find the kbench binary: %w", err)
			}
			return process.New(process.Config{Binary: binary, WorkDir: filepath.Join(f.dataDir, name)})
		},
	}
}

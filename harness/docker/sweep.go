package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"kbench/docker/images"
)

// leftover is one thing on the engine that a run made.
type leftover struct {
	kind, id, name string
	labels         map[string]string
	paused         bool
}

// Sweep removes the containers, networks and volumes of runs whose owner, a
// child.Identity, is gone and one that mine knows, and names what it removed; nil
// knows all. Runs that go on, those of other hosts and everything without kbench's
// labels are not touched, nor are images, which no run has for itself.
func Sweep(ctx context.Context, mine func(owner string) bool) (removed []string, err error) {
	e, err := Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.sweep(ctx, func(labels map[string]string) bool {
		return !alive(labels) && (mine == nil || mine(labels[labelPID]+" "+labels[labelStarted]))
	})
}

// SweepImages removes node images that no container uses, and names them.
func SweepImages(ctx context.Context) (removed []string, err error) {
	e, err := Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.dropImages(ctx)
}

// Left lists the containers, networks and volumes of runs of a process of this
// host, whether it still runs or not.
func Left(ctx context.Context, pid string) (names []string, err error) {
	e, err := Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	all, err := e.list(ctx)
	for _, l := range all {
		if l.labels[labelHost] == hostName() && l.labels[labelPID] == pid {
			names = append(names, l.kind+" "+l.name)
		}
	}
	return names, err
}

// sweep removes what dead says, containers first: they hold the rest.
func (e *Engine) sweep(ctx context.Context, dead func(labels map[string]string) bool) ([]string, error) {
	all, err := e.list(ctx)
	if err != nil {
		return nil, err
	}
	var removed []string
	var errs []error
	for _, kind := range []string{"container", "network", "volume"} {
		var mine []leftover
		for _, l := range all {
			if l.kind == kind && dead(l.labels) {
				mine = append(mine, l)
			}
		}
		errs = append(errs, inParallel(len(mine), func(i int) error { return e.drop(ctx, mine[i]) }))
		for _, l := range mine {
			removed = append(removed, fmt.Sprintf("docker %s %s of run %s", l.kind, l.name, l.labels[labelRun]))
		}
	}
	slices.Sort(removed)
	return removed, errors.Join(errs...)
}

func (e *Engine) drop(ctx context.Context, l leftover) error {
	var err error
	switch l.kind {
	case "container":
		err = e.removeContainer(ctx, l.id, l.paused)
	case "network":
		err = e.removeNetwork(ctx, l.id)
	case "volume":
		err = e.removeVolume(ctx, l.id)
	}
	if err != nil {
		return fmt.Errorf("remove docker %s %s: %w", l.kind, l.name, err)
	}
	return nil
}

// list finds everything with the label of a run.
func (e *Engine) list(ctx context.Context) ([]leftover, error) {
	ours := make(client.Filters).Add("label", labelRun)
	var out []leftover
	containers, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers.Items {
		name := c.ID
		if len(c.Names) > 0 {
			name = c.Names[0][1:]
		}
		out = append(out, leftover{"container", c.ID, name, c.Labels, c.State == "paused"})
	}
	networks, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks.Items {
		out = append(out, leftover{"network", n.ID, n.Name, n.Labels, false})
	}
	volumes, err := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes.Items {
		out = append(out, leftover{"volume", v.Name, v.Name, v.Labels, false})
	}
	return out, nil
}

// imageGrace spares an image that a run may have built and not used yet.
const imageGrace = 10 * time.Minute

// dropImages removes node images that nothing uses. Those of Java and
// ZooKeeper stay: they take long to build and do not change.
func (e *Engine) dropImages(ctx context.Context) ([]string, error) {
	list, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", images.Label+"=node")})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var removed []string
	for _, i := range list.Items {
		if time.Since(time.Unix(i.Created, 0)) < imageGrace {
			continue
		}
		switch _, err := e.api.ImageRemove(ctx, i.ID, client.ImageRemoveOptions{PruneChildren: true}); {
		case err == nil:
			name := i.ID
			if len(i.RepoTags) > 0 {
				name = i.RepoTags[0]
			}
			removed = append(removed, "docker image "+name)
		case errdefs.IsConflict(err), errdefs.IsNotFound(err): // in use, or gone by itself
		default:
			return removed, fmt.Errorf("remove image %s: %w", i.ID, err)
		}
	}
	return removed, nil
}
